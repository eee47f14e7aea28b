"""Conversations read for GetMemory, and facts and times printed."""

from datetime import UTC, datetime

import pytest

from kgsvc.cli.chats import timestamp
from kgsvc.cli.search import messages_of
from kgsvc.cli.show import facts_as_lines, printable, validity
from kgsvc.v1.types_pb2 import FactResult, RoleType

NOW = datetime(2025, 6, 1, tzinfo=UTC)
HI = '{"role_type": "user", "content": "Hi."}'
YES = '{"role_type": "assistant", "role": "Kim", "content": "Yes."}'
USER, ASSISTANT = RoleType.ROLE_TYPE_USER, RoleType.ROLE_TYPE_ASSISTANT


def read(text: str) -> list[tuple[int, str | None, str]]:
    return [
        (message.role_type, message.role if message.HasField("role") else None, message.content)
        for message in messages_of(text, NOW)
    ]


def test_lines_name_a_side_or_a_person() -> None:
    text = "user: Hi.\nassistant(Kim): Yes: really.\n\nAlice Chen: And you?\n"
    assert read(text) == [
        (USER, None, "Hi."),
        (ASSISTANT, "Kim", "Yes: really."),
        (USER, "Alice Chen", "And you?"),
    ]
    assert {message.timestamp.seconds for message in messages_of(text, NOW)} == {int(NOW.timestamp())}


@pytest.mark.parametrize("text", [f"[{HI}, {YES}]", f"{HI}\n{YES}\n"])
def test_json_comes_as_an_array_or_as_lines(text: str) -> None:
    assert read(text) == [(USER, None, "Hi."), (ASSISTANT, "Kim", "Yes.")]


def test_a_time_in_json_is_kept() -> None:
    text = '[{"role_type": "user", "content": "Hi.", "timestamp": "2024-01-01T00:00:00Z"}]'
    (message,) = messages_of(text, NOW)
    assert message.timestamp.ToJsonString() == "2024-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("user: Hi.\nno colon here", "line 2"),
        ("[1]", "message 1"),
        ('[{"role_type": "user", "content": "a", "mood": "b"}]', "message 1"),
        ('[{"role_type": "robot", "content": "a"}]', "message 1"),
        ('[{"role_type": "user", "content": 3}]', "message 1: content and role must be texts"),
        ('[{"role_type": "user"', "delimiter"),
    ],
)
def test_what_cannot_be_read_is_named(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        list(messages_of(text, NOW))


@pytest.mark.parametrize(
    ("valid", "invalid", "said"),
    [
        (datetime(2024, 1, 1, tzinfo=UTC), None, "since 2024-01-01"),
        (
            datetime(2024, 1, 1, 9, 30, tzinfo=UTC),
            datetime(2025, 1, 1, tzinfo=UTC),
            "2024-01-01T09:30:00Z to 2025-01-01",
        ),
        (None, datetime(2025, 1, 1, tzinfo=UTC), "until 2025-01-01"),
        (None, None, "valid; start unknown"),
    ],
)
def test_validity_is_said_in_words(valid: datetime | None, invalid: datetime | None, said: str) -> None:
    fact = FactResult(
        valid_at=timestamp(valid) if valid else None, invalid_at=timestamp(invalid) if invalid else None
    )
    assert validity(fact) == said


def test_nothing_that_a_terminal_obeys_is_printed() -> None:
    assert printable("a\x1b[31mb\nc\u200f") == "a\ufffd[31mb c\ufffd"
    lines = list(facts_as_lines([FactResult(fact="a\x1bb\nc", source_name="\x07")]))
    assert not any(char in line for line in lines for char in "\x1b\x07\n")


def test_a_relation_that_says_nothing_is_left_out() -> None:
    def line(name: str, target: str) -> str:
        fact = FactResult(fact="It hums.", name=name, source_name="Atlas", target_name=target)
        fact.source_node_uuid, fact.target_node_uuid = "Atlas", target
        return list(facts_as_lines([fact]))[1]

    assert line("MENTIONED", "Atlas").startswith("     Atlas · valid")
    assert line("MENTIONED_WITH", "Atlas").startswith("     Atlas · valid")
    assert line("MENTIONED", "Bruno").startswith("     Atlas MENTIONED Bruno · valid")
    assert line("HAS_STATUS", "Atlas").startswith("     Atlas HAS_STATUS · valid")
