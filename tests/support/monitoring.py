"""The queries of deploy/: those of alerts and those of the dashboard."""

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

from tests.support.promql import selectors
from tests.support.spawning import REPOSITORY

FILES = REPOSITORY / "deploy" / "chart" / "files"


def alerts() -> list[dict[str, Any]]:
    """The alert rules."""
    text = (FILES / "alerts.yaml").read_text()
    return [rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    """The dashboard."""
    read: dict[str, Any] = json.loads((FILES / "dashboard.json").read_text())
    return read


def queries() -> Iterator[str]:
    """Every query, with a value for each variable of the dashboard."""
    yield from (rule["expr"] for rule in alerts())
    for panel in dashboard()["panels"]:
        for target in panel["targets"]:
            yield re.sub(r"\$\w+", ".*", target["expr"])


def used() -> dict[str, set[str]]:
    """Each metric that a query reads, with the labels that it asks for."""
    found: dict[str, set[str]] = {}
    for query in queries():
        for name, labels in selectors(query):
            found.setdefault(name, set()).update(labels)
    return found
