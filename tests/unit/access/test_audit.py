"""What the audit notes, and that it waits for nobody."""

import json
from pathlib import Path

import pytest

from kgsvc.access.audit import Audit, AuditError
from kgsvc.access.authentication import AccessSettings, Authenticator
from kgsvc.api.access import UNPROVEN, Access
from kgsvc.api.calls import Call
from kgsvc.runtime import SystemClock


def noted(path: Path, *calls: Call, known: bool) -> list[tuple[str, str]]:
    """Who did what, as the audit has it after these calls."""
    audit = Audit(path)
    authenticator = Authenticator(AccessSettings(), SystemClock()) if known else None
    access = Access(authenticator=authenticator, audit=audit)
    for call in calls:
        access.note(call)
    audit.close()
    return [(line["who"], line["operation"]) for line in map(json.loads, path.read_text().splitlines())]


def call(operation: str, who: str | None = None, error_code: str | None = None) -> Call:
    return Call(operation, "r", who=who, error_code=error_code)


def test_writes_and_what_was_denied_are_noted(tmp_path: Path) -> None:
    found = noted(
        tmp_path / "audit",
        call("SearchFacts", "ann"),
        call("AddEpisodes", "ann"),
        call("DeleteGroup", "ann", "NOT_FOUND"),
        call("SearchFacts", "ann", "PERMISSION_DENIED"),
        call("SearchFacts", UNPROVEN, "UNAUTHENTICATED"),
        call("AddEpisodes", None, "UNAUTHENTICATED"),
        call("SearchFacts", UNPROVEN, "OVERLOADED"),
        call("grpc.health.v1.Health/Check", UNPROVEN, "UNAUTHENTICATED"),
        call("grpc.health.v1.Health/Check", UNPROVEN, "OVERLOADED"),
        known=True,
    )
    assert found == [
        ("ann", "AddEpisodes"), ("ann", "DeleteGroup"), ("ann", "SearchFacts"), (UNPROVEN, "SearchFacts"),
        (UNPROVEN, "grpc.health.v1.Health/Check"),
    ]  # fmt: skip


def test_without_credentials_anybody_did_it(tmp_path: Path) -> None:
    calls = (call("AddEpisodes"), call("GetEpisodes"))
    assert noted(tmp_path / "audit", *calls, known=False) == [("anybody", "AddEpisodes")]


def test_lines_are_added_to_those_that_are_there(tmp_path: Path) -> None:
    for number in range(3):
        assert len(noted(tmp_path / "audit", call("ClearAll"), known=False)) == number + 1
    with pytest.raises(AuditError, match="cannot be written"):
        Audit(tmp_path)


def test_standard_output_is_one_of_the_places(capsys: pytest.CaptureFixture[str]) -> None:
    audit = Audit(Path("-"))
    audit.note({"who": "ann\nbob", "error_code": None})
    audit.close()
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line).keys() == {"ts", "who"}
