"""Take over a store that a version before 0.1 wrote: all its rows, into a new store. Stop the service first.

    python -m scripts.move_store embedded FROM_FOLDER TO_FOLDER
    python -m scripts.move_store neo4j FROM_URI TO_URI

The old store is only read, and stays as a backup. The new one must be empty; no service opens it before
all rows have arrived. A move that was cut short is begun anew by the same command. Passwords of Neo4j are
taken from FROM_PASSWORD and TO_PASSWORD.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import apsw
from neo4j.exceptions import DriverError, Neo4jError

from kgsvc.domain.errors import StoreUnavailable
from scripts.moving import RefusedError, embedded, neo4j


def main(arguments: list[str]) -> int:
    """The command line of this file."""
    options = _parser().parse_args(arguments)
    try:
        moved = _moved(options)
    except (RefusedError, StoreUnavailable, apsw.Error, OSError, DriverError, Neo4jError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    for kind, count in moved.items():
        sys.stdout.write(f"{count:10} {kind}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="move_store", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = parser.add_subparsers(dest="kind", required=True)
    files = kinds.add_parser("embedded")
    files.add_argument("source", type=Path, metavar="FROM_FOLDER", help="store.data_dir until now")
    files.add_argument("target", type=Path, metavar="TO_FOLDER", help="missing or empty")
    servers = kinds.add_parser("neo4j")
    servers.add_argument("source", metavar="FROM_URI", help="store.neo4j_uri until now")
    servers.add_argument("target", metavar="TO_URI", help="of another server, or of another database")
    for side in ("from", "to"):
        servers.add_argument(f"--{side}-user", default="neo4j")
        servers.add_argument(f"--{side}-database", default="neo4j")
    return parser


def _moved(options: argparse.Namespace) -> dict[str, int]:
    if options.kind == "embedded":
        return embedded.move(options.source, options.target)
    places = [
        neo4j.Place(uri, os.environ.get(f"{side}_PASSWORD", ""), user, database)
        for side, uri, user, database in (
            ("FROM", options.source, options.from_user, options.from_database),
            ("TO", options.target, options.to_user, options.to_database),
        )
    ]
    return neo4j.move(*places)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
