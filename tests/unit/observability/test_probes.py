"""Whether a process, or a service of several, lives and is ready, as a probe is told over HTTP."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from prometheus_client import CollectorRegistry

from kgsvc.observability.endpoint import ALIVE, READY, MetricsEndpoint, shown
from kgsvc.observability.probes import Probes, ProcessProbes


class Monotonic:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_ready_between_the_start_and_the_drain_while_the_store_answers() -> None:
    probes = Probes(Monotonic())
    probes.store_answers = True
    assert probes.not_ready() == "starting or draining"
    probes.serving = True
    assert probes.not_ready() == ""
    probes.store_answers = False
    assert probes.not_ready() == "the store does not answer"
    probes.store_answers = True
    probes.drain()
    assert probes.not_ready() == "starting or draining"


def test_alive_whatever_happens_to_the_store_but_not_once_the_loop_stands_still() -> None:
    clock = Monotonic()
    probes = Probes(clock)
    assert probes.not_alive() == ""
    clock.now += 61
    assert probes.not_alive() == "the event loop has stood still for 61 s"


@pytest.fixture
def shows() -> Iterator[dict[str, tuple[Probes, str]]]:
    """Two processes that answer calls and one that ingests: probes and addresses."""
    with ExitStack() as stack:
        found = {}
        for name in ("api-1", "api-2", "worker-1"):
            probes = Probes(Monotonic())
            probes.serving = probes.store_answers = True
            endpoint = MetricsEndpoint(CollectorRegistry(), 0, asked=probes)
            stack.callback(endpoint.close)
            found[name] = (probes, f"127.0.0.1:{endpoint.port}")
        yield found


def test_a_probe_is_told_why_not(shows: dict[str, tuple[Probes, str]]) -> None:
    probes, address = shows["api-1"]
    assert shown(address, READY) == shown(address, ALIVE) == (200, "ok\n")
    probes.drain()
    assert shown(address, READY) == (503, "starting or draining\n")
    assert shown(address, ALIVE) == (200, "ok\n")


def test_several_are_ready_while_one_of_each_role_is(shows: dict[str, tuple[Probes, str]]) -> None:
    addresses = {name: address for name, (_, address) in shows.items()}
    whole = ProcessProbes(Probes(Monotonic()), list(shows), addresses)
    assert whole.not_ready() == ""
    shows["api-1"][0].drain()
    assert whole.not_ready() == ""
    del addresses["api-2"]
    assert whole.not_ready() == "api-1: starting or draining; api-2: is being started"
    assert whole.not_alive() == ""
    shows["api-1"][0].serving = True
    addresses["worker-1"] = "127.0.0.1:1"
    assert whole.not_ready() == "worker-1: does not answer"


def test_several_are_alive_while_the_parent_and_all_that_run_are() -> None:
    clock, stalled = Monotonic(), Probes(Monotonic())
    endpoint = MetricsEndpoint(CollectorRegistry(), 0, asked=stalled)
    whole = ProcessProbes(Probes(clock), ["api-1", "worker-1"], {"api-1": f"127.0.0.1:{endpoint.port}"})
    assert whole.not_alive() == "", "who died is started again by the parent"
    vars(stalled)["_monotonic"].now += 90
    assert whole.not_alive() == "api-1: the event loop has stood still for 90 s"
    endpoint.close()
    assert whole.not_alive() == "api-1: does not answer"
    clock.now += 70
    assert whole.not_alive() == "the event loop has stood still for 70 s"
