"""Chats that messengers exported: who wrote what, on which day."""

import pytest

from kgsvc.domain.model.graph import Source
from kgsvc.models.rules.exports import parts_of_chat
from tests.unit.models_rules.support import ms, read, text_episode

EUROPEAN = """\
12/03/2022, 14:05 - Messages and calls are end-to-end encrypted.
12/03/2022, 14:05 - Ann Holm: I moved to Oslo last week
12/03/2022, 14:07 - Bob Stone: <Media omitted>
13/03/2022, 09:00 - Bob Stone: My sister Carla lives in Bergen.
She has a dog named Rex.
14/03/2022, 09:00 - Ann Holm added Dora
14/03/2022, 09:02 - Ann Holm: I'm allergic to dogs <This message was edited>
"""


def written(body: str) -> list[tuple[str | None, str]]:
    return [(part.writer, part.text) for part in parts_of_chat(body)]


def test_each_message_has_its_writer_and_its_day() -> None:
    assert written(EUROPEAN) == [
        (None, "# 2022-03-12"),
        (None, "Messages and calls are end-to-end encrypted."),
        ("Ann Holm", "I moved to Oslo last week"),
        (None, "# 2022-03-13"),
        ("Bob Stone", "My sister Carla lives in Bergen.\nShe has a dog named Rex."),
        (None, "# 2022-03-14"),
        (None, "Ann Holm added Dora"),
        ("Ann Holm", "I'm allergic to dogs"),
    ]


@pytest.mark.parametrize("source", [Source.TEXT, Source.DOCUMENT])
def test_what_a_message_says_holds_from_its_day(source: Source) -> None:
    facts = {fact.triple: fact.valid_ms for fact in read(text_episode(EUROPEAN, source)).facts}
    assert facts["LIVES_IN", "Ann Holm", "Oslo"] == ms(2022, 2, 28)
    assert facts["LIVES_IN", "Carla", "Bergen"] == facts["HAS_DOG", "Carla", "Rex"] == ms(2022, 3, 13)
    assert facts["ALLERGIC_TO", "Ann Holm", "dogs"] == ms(2022, 3, 14)


@pytest.mark.parametrize(
    ("first", "second", "days"),
    [
        ("[12.03.22, 14:05:10] ", "[04.04.22, 09:00:00] ", ("2022-03-12", "2022-04-04")),
        ("3/12/22, 2:05\u202fPM - ", "3/13/22, 9:00\u202fAM - ", ("2022-03-12", "2022-03-13")),
        ("3/4/22, 2:05 PM - ", "3/5/22, 9:00 AM - ", ("2022-03-04", "2022-03-05")),
        ("3/4/22, 2:05 pm - ", "3/5/22, 9:00 am - ", ("2022-04-03", "2022-05-03")),
        ("3/12/22, 14:05 - ", "4/1/22, 9:00 - ", ("2022-03-12", "2022-04-01")),
        ("\u200e[2022-03-04, 14:05:10] ", "[2022-03-05, 14:05:10] ", ("2022-03-04", "2022-03-05")),
        ("12-03-2022 14:05 - ", "13-03-2022 14:05 - ", ("2022-03-12", "2022-03-13")),
    ],
)
def test_days_are_read_in_the_order_that_fits(first: str, second: str, days: tuple[str, str]) -> None:
    told = written(f"{first}Ann: Hello\n{second}~ Bob: Hi there\n")
    assert told == [(None, f"# {days[0]}"), ("Ann", "Hello"), (None, f"# {days[1]}"), ("Bob", "Hi there")]


def test_a_part_may_begin_within_a_message() -> None:
    part = EUROPEAN[EUROPEAN.index("She has") :] + "15/03/2022, 09:00 - Bob Stone: Bye\n"
    assert written(part)[0] == (None, "She has a dog named Rex.")


@pytest.mark.parametrize(
    "body",
    [
        "2022-03-12 14:05:10 INFO: started\n2022-03-12 14:05:11 ERROR: failed\n",
        "2022-03-12 14:05:10 the server started\n2022-03-12 14:05:11 Ann: hello\n" * 2
        + "2022-03-12 14:06 x\n",
        "99/99/2022, 14:05 - Ann: Hello\n99/99/2022, 14:06 - Bob: Hi\n",
        "12/03/2022, 14:05 - Ann: alone\n",
        "Ann: Hello\nBob: Hi\n",
    ],
    ids=["log", "mostly no names", "no dates", "one", "no times"],
)
def test_what_is_no_such_chat(body: str) -> None:
    assert written(body) == []
