"""The last word of a test run: what was not tested here, and why."""

from collections import Counter

import pytest


def pytest_unconfigure(config: pytest.Config) -> None:
    """One line a reason, after everything else has been said."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    reasons = Counter(
        report.longrepr[2].removeprefix("Skipped: ")
        for report in reporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
    )
    for reason, count in reasons.most_common():
        reporter.write_line(f"!!! {count} tests were skipped: {reason}", yellow=True, bold=True)
