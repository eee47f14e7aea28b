"""The file that says how long groups keep what they hold."""

from pathlib import Path

import pytest

from kgsvc.access.retention import Retention, RetentionError, read_retention, retention_of

DAY_MS = 86_400_000


def read(folder: Path, text: str) -> tuple[Retention, ...]:
    (folder / "retention.toml").write_text(text)
    return read_retention(folder / "retention.toml")


def test_the_first_entry_that_covers_a_group_counts(tmp_path: Path) -> None:
    policies = read(
        tmp_path,
        """
        [[retention]]
        groups = "acme/legal"

        [[retention]]
        groups = "acme/"
        episodes_days = 30
        ended_facts_days = 2
        """,
    )
    kept, wide = (retention_of(policies, group) for group in ("acme/legal", "acme/x"))
    assert kept is not None
    assert kept.horizons(0) == (None, None)
    assert wide is not None
    assert wide.horizons(100 * DAY_MS) == (70 * DAY_MS, 98 * DAY_MS)
    assert retention_of(policies, "acme2") is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("retention = 1", r"write \[\[retention\]\]"),
        ("[[retention]]\nepisodes_days = 1", "entry 1: groups is required"),
        ("[[retention]]\ngroups = 'a'\n[[retention]]\ngroups = 1", "entry 2: groups is required"),
        ("[[retention]]\ngroups = 'a'\nepisode_days = 1", "unknown episode_days"),
        ("[[retention]]\ngroups = 'a'\nepisodes_days = 0", "episodes_days is a number of days, 1 or more"),
        ("[[retention]]\ngroups = 'a'\nended_facts_days = true", "ended_facts_days is a number of days"),
        ("[[retention]", "is not TOML"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(RetentionError, match=why):
        read(tmp_path, text)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RetentionError, match=r"retention.file: .*nowhere cannot be read"):
        read_retention(tmp_path / "nowhere")
