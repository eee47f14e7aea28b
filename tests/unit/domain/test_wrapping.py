"""Lines broken where they were full are one; lines that end for other reasons stay what they are."""

import pytest

from kgsvc.domain.wrapping import unwrapped
from tests.unit.models_rules.support import read, text_episode

WRAPPED = """\
* Ida Holm repaired the wheel of the old mill in the spring, and since then she lives in
  Vienna. It was a cold day, and nobody
  had expected her to come.
* The owner, whom the village had known for more than forty years, paid her in silver and
  moved to Sweden.
"""
WHOLE = """\
* Ida Holm repaired the wheel of the old mill in the spring, and since then she lives in Vienna. It was a \
cold day, and nobody had expected her to come.
* The owner, whom the village had known for more than forty years, paid her in silver and moved to Sweden.
"""
VERSES = "Roses are red\nViolets are blue\nSugar is sweet\nAnd so are you\n"
LINES = "Ann Holm works at Globex as an engineer in Oslo\nOle Dahl works at Acme as a plumber in London\n"
TALK = "Ann: I will come tomorrow, if the road is free, and\nBen: Good, then we shall wait for you\n"
TABLE = "| Mill | the owner and\n| Farm | the family\n"
CODE = "```\nif the mill is\nopen: go in\n```\n"


@pytest.mark.parametrize(("text", "whole"), [(WRAPPED, WHOLE), (WRAPPED.replace("\n", "\r\n"), WHOLE)])
def test_full_lines_are_joined(text: str, whole: str) -> None:
    assert unwrapped(text).replace("\r", "") == whole


@pytest.mark.parametrize("text", [VERSES, LINES, TALK, TABLE, CODE, "", "\n\n", "Ann"])
def test_other_lines_stay(text: str) -> None:
    assert unwrapped(text) == text


def test_one_full_line_is_enough_where_the_next_begins_in_the_midst_of_a_sentence() -> None:
    text = "The owner of the mill will come in spring to see it turn. If\nso, we wait.\n\nAnn Holm\nOslo\n"
    assert unwrapped(text).startswith(text.replace("If\n", "If "))


@pytest.mark.slow
@pytest.mark.timeout(20)
@pytest.mark.parametrize("line", ["a\n", "of\n", "> \n", "``` \n", " " * 50 + "a\n", "a:\n", "\n"])
def test_no_text_takes_long(line: str) -> None:
    assert unwrapped(line * (2_000_000 // len(line)))


def test_quoted_mail_is_what_it_quotes() -> None:
    quoted = "\n".join(f"> {line}" for line in WRAPPED.splitlines())
    assert unwrapped(quoted) == WHOLE.strip()


def test_facts_do_not_end_with_a_line() -> None:
    found = read(text_episode(WRAPPED))
    assert ("LIVES_IN", "Ida Holm", "Vienna") in found.triples
