"""Which tests stay together when pytest-xdist runs them on several workers.

A worker is a session of its own, with its own servers. A share runs on one worker, one test after another:
the tests of a Neo4j in few shares, since a server takes long to start and to get fast; all others by module.
"""

from collections import Counter
from collections.abc import Iterator

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.support.neo4j_fixture import NEO4J_LABELS, named_servers

# Begun first and in this order. A test belongs to the first that its "LABEL FOLDER/MODULE" begins with.
# Modules come after them: they are short, so that all workers end at about the same time. Of these what fails
# often and fast is first.
NEO4J_SHARES = ("neo4j-2026 acceptance", "neo4j-5.26", "neo4j-2026 faults", "neo4j-2026")
FOLDERS = ("unit", "conformance", "property", "integration", "acceptance", "clients", "page", "faults")
ORDER = (*NEO4J_SHARES, *FOLDERS)


def share_of(node: str) -> str:
    """The share of a test, by its node (`tests/faults/test_drain.py::test_x[neo4j-2026]`)."""
    module, _, name = node.removeprefix("tests/").partition("::")
    label = next((label for label in NEO4J_LABELS if label in name), None)
    if label is None:
        return module
    if label in named_servers():  # there is one for all workers
        return label
    return next(share for share in NEO4J_SHARES if f"{label} {module}".startswith(share))


def place_of(share: str) -> int:
    """When a share begins, among the others."""
    return ORDER.index(share if share in NEO4J_SHARES else share.partition("/")[0])


class Shares(LoadScopeScheduling):  # type: ignore[misc]  # xdist is not typed
    """Gives workers whole shares, each the next one when it has nothing left."""

    def _split_scope(self, nodeid: str) -> str:
        return share_of(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> Shares:
    """Distribute by shares, in the order of collection."""
    config.option.loadscopereorder = False
    return Shares(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """After all else has ordered them: in a worker, put shares in their order."""
    yield
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: place_of(share_of(item.nodeid)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """After a run on several workers: what took longest, to keep NEO4J_SHARES in balance."""
    reports = [each for kind in terminalreporter.stats.values() for each in kind if hasattr(each, "node")]
    seconds = Counter[str]()
    for report in reports:
        worker = report.node.gateway.id
        seconds[f"{worker} in all"] += report.duration
        seconds[f"{worker} {share_of(report.nodeid)}"] += report.duration
    if seconds:
        terminalreporter.section("longest shares, in seconds")
    for share, total in seconds.most_common(20):
        terminalreporter.write_line(f"{total:6.0f}  {share}")
