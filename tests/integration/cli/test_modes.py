"""`kgsvc pause`, `kgsvc resume`, `kgsvc mode` and `kgsvc migrate`: against a server, and on stores."""

import json
import re
from pathlib import Path

import apsw
import pytest

from kgsvc.stores.embedded.connection import FILE_NAME
from kgsvc.stores.embedded.schema import SCHEMA_VERSION
from tests.integration.cli.conftest import Talker, kgsvc
from tests.support.store_spec import StoreSpec

SAID = "Project Heron uses SQLite."
SINCE = r"since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


async def say(talk: Talker, *words: str) -> None:
    """An episode for the group `team`."""
    done = await talk("ingest", "-", "--group", "team", *words, stdin=f"{SAID}\n")
    assert done.code == 0, done.err


async def test_a_group_is_paused_and_resumed(talk: Talker) -> None:
    await talk("mode", "normal")
    paused = await talk("pause", "team")
    assert paused.code == 0, paused.err
    assert re.fullmatch(rf"team is paused {SINCE}: 0 items wait\.\n", paused.out)
    assert paused.err == "Nothing was sent to 'team' yet, or all of it is deleted.\n"
    await say(talk)
    again = await talk("pause", "team")
    assert again.out == paused.out.replace("0 items wait", "1 item waits")
    assert again.err == ""
    (_, shown) = (await talk("groups")).out.splitlines()
    assert shown.endswith("  team (paused, 1 waiting)")
    items = await talk("items", "--group", "team")
    assert "accepted" in items.out
    assert items.err == "1 items; those that are not done wait: the group is paused (`kgsvc resume`)\n"
    resumed = (await talk("resume", "team", "--json")).json
    assert "paused_since" not in resumed
    await say(talk, "--wait")
    assert "paused" not in (await talk("groups")).out


async def test_a_mistyped_name_is_said(talk: Talker) -> None:
    await say(talk, "--wait")
    done = await talk("pause", "teem")
    assert "(did you mean 'team'?)" in done.err
    await talk("resume", "teem")


async def test_modes_are_shown_and_switched(talk: Talker) -> None:
    assert (await talk("mode")).out == "normal: no mode is on.\n"
    done = await talk("mode", "read-only")
    assert re.fullmatch(rf"read-only {SINCE}: writes are refused, accepted items wait\.\n", done.out)
    refused = await talk("ontology", "put", "-", "--group", "team", stdin="{}")
    assert "FAILED_PRECONDITION: the service is in the mode read-only" in refused.sentence
    both = (await talk("mode", "model-off")).out.splitlines()
    assert [line.partition(" ")[0] for line in both] == ["read-only", "model-off"]
    assert re.fullmatch(rf"model-off {SINCE}: no model server is called\.", both[1])
    assert set((await talk("mode", "read-only", "--off", "--json")).json) == {"model_off_since"}
    assert (await talk("mode", "normal")).out == "normal: no mode is on.\n"


@pytest.mark.parametrize("words", [("--off",), ("normal", "--off"), ("sleepy",)])
async def test_what_no_mode_is_meant_by_is_wrong_usage(words: tuple[str, ...], talk: Talker) -> None:
    done = await talk("mode", *words)
    assert done.code == 2


async def test_a_check_says_whether_a_store_fits_and_changes_nothing(store_spec: StoreSpec) -> None:
    settings = store_spec.settings
    if store_spec.data_dir is not None:
        missing = await kgsvc("migrate", "--check", settings=settings)
        assert "there is no store" in missing.sentence
        assert not store_spec.data_dir.exists()
    made = (await kgsvc("migrate", "--json", settings=settings)).json
    assert made["schema"] == made["wanted"]
    checked = await kgsvc("migrate", "--check", settings=settings)
    assert checked.code == 0, checked.err
    assert checked.out == (
        f"The {made['store']} store has schema {made['schema']}, which is that of this version.\n"
    )


@pytest.mark.parametrize(
    ("version", "said"),
    [
        (SCHEMA_VERSION + 1, "upgrade kgsvc"),
        (SCHEMA_VERSION - 1, "scripts/move_store.py takes such a store over"),
        (0, "the store has no schema yet"),
    ],
)
async def test_another_schema_is_named_with_what_to_do(version: int, said: str, tmp_path: Path) -> None:
    settings = {"store.data_dir": str(tmp_path)}
    assert (await kgsvc("migrate", settings=settings)).code == 0
    db = apsw.Connection(str(tmp_path / FILE_NAME))
    db.pragma("user_version", version)
    db.close()
    done = await kgsvc("migrate", "--check", settings=settings)
    assert said in done.sentence


async def test_doctor_names_modes_and_writes_nothing_in_read_only(talk: Talker) -> None:
    place = {"store.data_dir": talk.service.settings["store.data_dir"]}
    place |= {"models.extractor": "offline", "models.embedder": "offline"}
    await talk("mode", "read-only")
    try:
        found = json.loads((await kgsvc("doctor", "--json", settings=place)).out)["checks"]
    finally:
        await talk("mode", "normal")
    by_name = {check["check"]: check for check in found}
    assert "read-only, so nothing is written here" in by_name["modes"]["found"]
    assert "write" not in by_name
    normal = json.loads((await kgsvc("doctor", "--json", settings=place)).out)["checks"]
    assert {"modes", "write"} <= {check["check"] for check in normal}
