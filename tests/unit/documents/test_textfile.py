"""A text in a file: what is read of it is what was written, however it came."""

import random

import pytest

from kgsvc.documents.textfile import TextFile
from kgsvc.domain.model.keys import digest

TEXT = '日本語 "quoted" \\ back\tslash 👨‍👩‍👧 line\n' * 5_000


def written(data: bytes, step: int) -> TextFile:
    made = TextFile()
    try:
        for at in range(0, len(data), step):
            made.write(data[at : at + step])
        made.end()
    except UnicodeDecodeError:
        made.close()
        raise
    return made


@pytest.mark.parametrize("step", [1_001, 65_536, 10_000_000])
def test_it_is_the_same_however_it_came(step: int) -> None:
    made = written(TEXT.encode(), step)
    assert (made.chars, made.size) == (len(TEXT), len(TEXT.encode()))
    assert made.content_hash == digest("document", TEXT)
    assert b"".join(made.blocks()).decode() == TEXT
    made.close()


def test_slices_are_those_of_the_text() -> None:
    made = TextFile.of(TEXT)
    drawn = random.Random(1)
    starts = sorted(drawn.randrange(len(TEXT)) for _ in range(200))
    spans = [(start, min(start + drawn.randrange(9_000), len(TEXT))) for start in starts]
    assert list(made.slices(spans)) == [TEXT[start:end] for start, end in spans]
    assert list(made.slices([(len(TEXT) - 5, len(TEXT))])) == [TEXT[-5:]]
    made.close()


@pytest.mark.parametrize("data", [b"a\xffb", "日".encode()[:2]])
def test_what_is_not_utf8_is_refused(data: bytes) -> None:
    with pytest.raises(UnicodeDecodeError):
        written(data, 1)


def test_blanks_and_nul_are_noticed() -> None:
    blank, nul = TextFile.of(" \n" * 100_000), TextFile.of("a" * 100_000 + "\0")
    assert (blank.is_blank, blank.has_nul) == (True, False)
    assert (nul.is_blank, nul.has_nul) == (False, True)
    blank.close()
    nul.close()
