"""The ontology of a group: its text, and the number in the group's record that tells one from the next."""

from __future__ import annotations

import apsw

from kgsvc.stores.embedded.groups import find_group, make_group
from kgsvc.stores.embedded.sql import first_row


def put_ontology(db: apsw.Connection, group_id: str, yaml: str | None) -> None:
    """See AdminStore."""
    gid = make_group(db, group_id).gid
    if yaml is None:
        db.execute("DELETE FROM ontologies WHERE gid = ?", (gid,))
    else:
        db.execute(
            """
            INSERT INTO ontologies (gid, yaml) VALUES (?, ?)
            ON CONFLICT (gid) DO UPDATE SET yaml = excluded.yaml
            """,
            (gid, yaml),
        )
    db.execute("UPDATE groups SET ontology_rev = ontology_rev + 1 WHERE gid = ?", (gid,))


def ontology(db: apsw.Connection, group_id: str) -> str | None:
    """See AdminStore."""
    group = find_group(db, group_id)
    if group is None:
        return None
    row = first_row(db, "SELECT yaml FROM ontologies WHERE gid = ?", (group.gid,))
    return None if row is None else str(row[0])
