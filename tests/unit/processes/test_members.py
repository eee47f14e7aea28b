"""Which processes there are."""

from dataclasses import replace

import pytest

from kgsvc.access.audit import STDOUT
from kgsvc.access.authentication import AccessSettings
from kgsvc.announcement import Running
from kgsvc.config import Server, Settings
from kgsvc.processes import members, suited
from kgsvc.stores.protocol import StoreInfo


def names(role: str, count: int) -> list[str]:
    settings = replace(Settings(), server=replace(Server(), role=role, processes=count))  # type: ignore[arg-type]
    return [member.name for member in members(settings, "127.0.0.1:1")]


@pytest.mark.parametrize(
    ("role", "count", "wanted"),
    [
        ("all", 2, ["api-1", "worker-1"]),
        ("all", 3, ["api-1", "api-2", "worker-1"]),
        ("all", 4, ["api-1", "api-2", "worker-1", "worker-2"]),
        ("api", 2, ["api-1", "api-2"]),
        ("worker", 3, ["worker-1", "worker-2", "worker-3"]),
    ],
)
def test_the_larger_half_answers_calls(role: str, count: int, wanted: list[str]) -> None:
    assert names(role, count) == wanted


@pytest.mark.parametrize(
    ("role", "count", "cores", "wanted"),
    [
        ("all", 0, 1, 1),
        ("all", 0, 2, 2),
        ("all", 0, 64, 2),
        ("api", 0, 4, 1),
        ("worker", 0, 4, 1),
        ("all", 1, 4, 1),
        ("all", 5, 1, 5),
    ],
)
def test_one_answers_and_one_ingests_where_no_number_is_set(
    role: str, count: int, cores: int, wanted: int
) -> None:
    settings = replace(Settings(), server=replace(Server(), role=role, processes=count))  # type: ignore[arg-type]
    assert suited(settings, cores).server.processes == wanted


def test_an_audit_on_standard_output_takes_one_process() -> None:
    settings = replace(Settings(), access=replace(AccessSettings(), audit=STDOUT))
    assert suited(settings, 2).server.processes == 1


def test_each_has_the_settings_of_all_but_role_and_addresses() -> None:
    settings = replace(Settings(), server=replace(Server(), processes=2, listen="127.0.0.1:0"))
    for member in members(settings, "127.0.0.1:7"):
        server = member.settings.server
        assert (server.listen, server.metrics_listen) == ("127.0.0.1:7", "127.0.0.1:0")
        back = replace(
            server, role="all", listen="127.0.0.1:0", metrics_listen=settings.server.metrics_listen
        )
        assert replace(member.settings, server=back) == settings


def test_without_metrics_no_process_serves_any() -> None:
    settings = replace(Settings(), server=replace(Server(), processes=2, metrics_listen=""))
    assert {member.settings.server.metrics_listen for member in members(settings, "127.0.0.1:7")} == {""}


def test_what_a_process_says_of_itself_is_understood() -> None:
    running = Running("127.0.0.1:7", None, None, StoreInfo("embedded", "SQLite 3", 12), "offline", None)
    assert Running.of_json(running.to_json()) == running
