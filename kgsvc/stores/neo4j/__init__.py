"""The store on a Neo4j server: for production."""

from __future__ import annotations

import logging

from neo4j import AsyncGraphDatabase
from neo4j.exceptions import DriverError, Neo4jError

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.stores.neo4j.adoption import Adoption
from kgsvc.stores.neo4j.bookmarks import Seen
from kgsvc.stores.neo4j.causality import Causality
from kgsvc.stores.neo4j.communities import Communities
from kgsvc.stores.neo4j.documents import Documents
from kgsvc.stores.neo4j.errors import unavailable
from kgsvc.stores.neo4j.fact_terms import ColdSearch
from kgsvc.stores.neo4j.fills import Fills
from kgsvc.stores.neo4j.graph import Graph
from kgsvc.stores.neo4j.history import Neo4jHistory
from kgsvc.stores.neo4j.importing import Transfers
from kgsvc.stores.neo4j.intake import Intake
from kgsvc.stores.neo4j.modes import Neo4jModes
from kgsvc.stores.neo4j.queue import Queue
from kgsvc.stores.neo4j.search import Search

__all__ = ["Neo4jStore"]


_OLDEST = (5, 26)
_PATIENCE_S = 5.0
_ELECTION_S = 20.0  # within which a cluster has a leader again
_SCHEMES = ("bolt://", "bolt+s://", "bolt+ssc://", "neo4j://", "neo4j+s://", "neo4j+ssc://")


class Neo4jStore(
    Intake,
    Queue,
    Transfers,
    Graph,
    Neo4jHistory,
    Communities,
    Fills,
    Search,
    ColdSearch,
    Adoption,
    Documents,
    Neo4jModes,
    Causality,
):
    """Every protocol of stores/protocol.py on a Neo4j server from 5.26 on, Community or Enterprise; methods
    without a docstring do what the protocol says.

    Several processes may use one database. In a cluster what writes, and all that plans and workers read,
    goes to the leader; what callers read goes to any server that has what this process saw before.
    """

    @classmethod
    async def connect(
        cls,
        uri: str,
        user: str,
        password: str,
        database: str = "neo4j",
        *,
        deadline_s: float = 30.0,
        patience_s: float | None = None,
        connections: int = 32,
    ) -> Neo4jStore:
        """Connect and check the server's version. `migrate` must run before anything else.

        `deadline_s` bounds every call, `patience_s` how long what may pass by itself (a deadlock, a lost
        connection, a leader that is no longer one) is tried again: by default 5 s, in a cluster 20. Raises
        StoreUnavailable.
        """
        logging.getLogger("neo4j").setLevel(logging.WARNING)  # its DEBUG lines quote parameters: bodies
        if not uri.startswith(_SCHEMES):
            raise StoreUnavailable(f"the address of Neo4j must begin with one of {', '.join(_SCHEMES)}")
        routed = uri.startswith("neo4j")
        if patience_s is None:
            patience_s = _ELECTION_S if routed else _PATIENCE_S
        try:
            driver = AsyncGraphDatabase.driver(
                uri,
                auth=(user, password),
                max_connection_pool_size=connections,
                connection_timeout=min(patience_s, _PATIENCE_S),
                connection_acquisition_timeout=deadline_s,
                notifications_min_severity="OFF",
                telemetry_disabled=True,
                user_agent="kgsvc",
            )
        except (DriverError, ValueError) as error:
            raise StoreUnavailable("the address of Neo4j is not one the driver understands") from error
        try:
            agent = (await driver.get_server_info()).agent
            _check_version(agent)
        except (Neo4jError, DriverError) as error:
            await driver.close()
            raise unavailable(error) from error
        except BaseException:
            await driver.close()
            raise
        store = cls(driver, database, deadline_s, patience_s)
        store._seen = Seen() if routed else None
        return store


def _check_version(agent: str) -> None:
    """StoreUnavailable for a server that is too old. `agent`: Neo4j/2026.09.0."""
    numbers = agent.rpartition("/")[2].split(".")
    try:
        version = (int(numbers[0]), int(numbers[1]))
    except (ValueError, IndexError):
        return  # a server that does not tell its number, as managed ones may: they are current
    if version < _OLDEST:
        raise StoreUnavailable(f"{agent} is too old: kgsvc needs Neo4j 5.26 or newer")
