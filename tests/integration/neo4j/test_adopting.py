"""kgsvc adopt: it writes with the key of the store, or not at all; and it says so in the audit."""

import json
from pathlib import Path

from kgsvc.stores.neo4j import Neo4jStore
from tests.integration.cli.conftest import kgsvc
from tests.support.neo4j_fixture import Address
from tests.support.samples import accepted, episode


async def test_with_another_key_nothing_is_taken_over(
    address: Address, store: Neo4jStore, group: str, tmp_path: Path
) -> None:
    await accepted(store, episode(group, "e"))
    (tmp_path / "key").write_bytes(b"x" * 32)
    here = {"store.neo4j_uri": address.uri, "store.neo4j_password": address.password}
    keyed = here | {"store.digest_key": str(tmp_path / "key")}
    done = await kgsvc("adopt", "--group", f"{group}-2", settings=keyed)
    assert "store.digest_key: the store was begun without a key" in done.sentence
    audited = here | {"access.audit": str(tmp_path / "audit.jsonl")}
    assert (await kgsvc("adopt", "--group", f"{group}-2", settings=audited)).code == 0
    (line,) = map(json.loads, (tmp_path / "audit.jsonl").read_text().splitlines())
    assert (line["operation"], line["groups"], line["outcome"]) == ("adopt", [f"{group}-2"], "success")
