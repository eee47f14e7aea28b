"""What deploy/ says of the service is true: metrics, labels, settings, and a section of the runbook each."""

import re
from collections.abc import Iterator
from itertools import pairwise

import yaml

from kgsvc.config import KEYS
from kgsvc.observability.metrics import Metrics, ProcessMetrics
from tests.support.monitoring import alerts, dashboard, used
from tests.support.spawning import REPOSITORY

CHART = REPOSITORY / "deploy" / "chart"
RUNBOOK = REPOSITORY / "docs" / "runbook.md"
AROUND = {"namespace", "instance", "process", "pod", "job"}  # set by who scrapes, or by several processes
PARTS = {
    "histogram": ("_bucket", "_count", "_sum"),
    "summary": ("", "_count", "_sum"),
    "counter": ("_total",),
}
OF_KIND = {"histogram": {"le"}, "summary": {"quantile"}}


def exported() -> Iterator[tuple[str, set[str]]]:
    """Each name that Prometheus stores of the service, with its labels."""
    metrics, parent = Metrics(), ProcessMetrics()
    for collector in (*vars(metrics).values(), parent.restarts):
        for family in getattr(collector, "collect", tuple)():
            labels = set(getattr(collector, "_labelnames", ())) | OF_KIND.get(family.type, set())
            for part in PARTS.get(family.type, ("",)):
                yield f"{family.name}{part}", labels


def test_every_metric_and_label_that_is_used_exists() -> None:
    known = dict(exported())
    for name, labels in used().items():
        assert name in known, name
        assert labels <= known[name] | AROUND, name


def test_the_dashboard_shows_every_metric() -> None:
    shown = {re.sub(r"_(bucket|count|sum)$", "", name) for name in used()}
    every = {re.sub(r"_(bucket|count|sum)$", "", name) for name, _ in exported()}
    assert every - shown == set()


def test_panels_do_not_overlap() -> None:
    places = [panel["gridPos"] for panel in dashboard()["panels"]]
    taken = [
        (x, y)
        for at in places
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(taken) == len(set(taken))
    assert max(x for x, _ in taken) < 24


def test_every_alert_has_its_section_in_the_order_of_the_file() -> None:
    sections = re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", RUNBOOK.read_text(), re.MULTILINE | re.DOTALL)
    assert [name for name, _ in sections] == [rule["alert"] for rule in alerts()]
    for _, text in sections:
        places = [text.index(f"**{part}**") for part in ("Means", "Look at", "Do")]
        assert all(one < other for one, other in pairwise(places))


def test_every_alert_says_how_bad_it_is_and_where_to_read_on() -> None:
    for rule in alerts():
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert rule["annotations"]["summary"].endswith(".")
        assert rule["annotations"]["runbook_url"] == f"docs/runbook.md#{rule['alert'].lower()}"


def test_metrics_that_the_runbook_names_exist() -> None:
    named = set(re.findall(r"`((?:kgsvc|ingestion|extraction|embedding)_\w+)[`{]", RUNBOOK.read_text()))
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name, _ in exported()}
    assert named <= families


def test_every_variable_of_the_chart_is_a_setting() -> None:
    text = (CHART / "templates" / "_helpers.tpl").read_text() + (CHART / "values.yaml").read_text()
    example = yaml.safe_load((CHART / "example-values.yaml").read_text())
    named = set(re.findall(r"KGSVC_[A-Z0-9_]+", text)) | {*example["settings"], *example["secret"]["files"]}
    known = {key.variable for key in KEYS.values()}
    known |= {f"{key.variable}_FILE" for key in KEYS.values() if key.secret}
    assert named <= known


def test_versions_of_the_chart_are_those_of_the_service() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    version = re.search(r'^version = "(.+)"$', (REPOSITORY / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None
    assert chart["version"] == chart["appVersion"] == version[1]
