"""Checks what is deployed without a cluster or an engine (`make deploy-check`).

The chart goes through helm's linter; what it renders is held against Kubernetes' own schemas, and its parts
must fit together; the Dockerfile and compose.yaml go through their linters.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import compose_spec
import kubernetes_validate
import yaml

Manifest = dict[str, Any]
CHART = Path("deploy/chart")
KUBERNETES = ("1.29", "1.34", "1.37")  # the oldest that the chart takes, and newer ones
OPERATOR = "monitoring.coreos.com/v1"  # whose schemas are not Kubernetes'
SMALLEST = ("--set", "allowPlaintext=true,neo4j.uri=bolt://neo4j:7687")
EXAMPLE = ("--values", str(CHART / "example-values.yaml"))


def helm(*words: str) -> subprocess.CompletedProcess[str]:
    """Run helm as if for a cluster."""
    command = ["helm", *words, "--kube-version", KUBERNETES[1]]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def rendered(*values: str) -> list[Manifest]:
    """The objects of the chart. Raises SystemExit with what helm says."""
    for done in (helm("lint", "--strict", str(CHART), *values), helm("template", "try", str(CHART), *values)):
        if done.returncode:
            raise SystemExit(f"{done.stdout}{done.stderr}")
    return [each for each in yaml.safe_load_all(done.stdout) if each]


def schema_problems(manifests: list[Manifest]) -> Iterator[str]:
    """What Kubernetes would not take, and fields that it would drop."""
    for version in KUBERNETES:
        for each in manifests:
            if each["apiVersion"] == OPERATOR:
                continue
            try:
                kubernetes_validate.validate(each, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                yield f"{named(each)} by {version}: {error.message}"


def named(each: Manifest) -> str:
    """For people."""
    return f"{each['kind']} {each['metadata']['name']}"


def within(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Whether a selector finds labels."""
    return selector.items() <= labels.items()


def fit_problems(manifests: list[Manifest]) -> Iterator[str]:
    """Selectors that find nothing, ports and objects that do not exist."""
    of = {kind: [m for m in manifests if m["kind"] == kind] for kind in {m["kind"] for m in manifests}}
    pods = [each["spec"]["template"] for each in of["Deployment"]]
    for each in of["Service"]:
        found = [pod for pod in pods if within(each["spec"]["selector"], pod["metadata"]["labels"])]
        ports = [{port["name"] for port in pod["spec"]["containers"][0]["ports"]} for pod in found]
        wanted = {port["targetPort"] for port in each["spec"]["ports"]}
        if not found or not all(wanted <= there for there in ports):
            yield f"{named(each)} finds no pod with ports {sorted(wanted)}"
    for each in (*of["PodDisruptionBudget"], *of.get("NetworkPolicy", ())):
        selector = each["spec"].get("selector") or each["spec"]["podSelector"]
        if not any(within(selector["matchLabels"], pod["metadata"]["labels"]) for pod in pods):
            yield f"{named(each)} finds no pod"
    for each in of.get("ServiceMonitor", ()):
        match = each["spec"]["selector"]["matchLabels"]
        ports = [
            {p["name"] for p in s["spec"]["ports"]}
            for s in of["Service"]
            if within(match, s["metadata"]["labels"])
        ]
        if ports != [{endpoint["port"] for endpoint in each["spec"]["endpoints"]}]:
            yield f"{named(each)} finds not exactly the service of metrics"
    for each in of.get("HorizontalPodAutoscaler", ()):
        target = each["spec"]["scaleTargetRef"]["name"]
        scaled = [d for d in of["Deployment"] if d["metadata"]["name"] == target]
        if [d for d in scaled if "replicas" not in d["spec"]] == []:
            yield f"{named(each)} scales nothing, or what has a number of replicas"
    for each in of.get("PrometheusRule", ()):
        if each["spec"] != yaml.safe_load((CHART / "files" / "alerts.yaml").read_text()):
            yield f"{named(each)} is not the file of alerts"


def open_problems(manifests: list[Manifest]) -> Iterator[str]:
    """Containers that may more than they must."""
    for each in (each for each in manifests if each["kind"] == "Deployment"):
        pod = each["spec"]["template"]["spec"]
        locked = {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        if not pod["securityContext"]["runAsNonRoot"] or pod["automountServiceAccountToken"]:
            yield f"{named(each)} runs as root or has a token"
        for container in pod["containers"]:
            if container["securityContext"] != locked:
                yield f"{named(each)}: {container['name']} is not locked"


def chart_problems() -> Iterator[str]:
    """Of the chart with the least and with all that can be switched on."""
    for values in (SMALLEST, EXAMPLE):
        manifests = rendered(*values)
        for problems in (schema_problems, fit_problems, open_problems):
            yield from problems(manifests)
        print(f"{len(manifests)} objects with {values[1]}")
    refused = helm("template", "try", str(CHART), "--set", "neo4j.uri=bolt://neo4j:7687")
    if refused.returncode == 0 or "allowPlaintext" not in refused.stderr:
        yield "the chart does not refuse to be open by default"


def linter_problems() -> Iterator[str]:
    """Of the Dockerfile and of compose.yaml, which is read without YAML's own merges."""
    done = subprocess.run(["hadolint", "Dockerfile"], capture_output=True, text=True, check=False)
    if done.returncode:
        yield done.stdout
    try:
        compose_spec.PyCompose.from_json(
            json.dumps(yaml.safe_load(Path("compose.yaml").read_text()))
        ).validate()
    except ValueError as error:
        yield f"compose.yaml: {error}"


def main() -> None:
    """Exit with every problem."""
    problems = [*chart_problems(), *linter_problems()]
    if problems:
        sys.exit("\n".join(problems))
    print("chart, Dockerfile and compose.yaml are in order")


if __name__ == "__main__":
    main()
