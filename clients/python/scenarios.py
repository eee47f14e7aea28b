"""The driver of clients/scenarios for Python; see the README there. Started as `[--aio] SETUP SCENARIOS`."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import kgsvc_client
from kgsvc_client import aio, values

TIMES = ("time", "as_of", "known_as_of")
OURS = frozenset({"do", "as", "expect", "error", "contains", "distinct", "grows_mib", "repeat"})
LISTINGS = ("episodes", "items", "documents")


class Problem(Exception):
    """What is not as expected."""


def plain(value: Any) -> Any:
    """A result as JSON has it."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, values.View):
        return {name: plain(each) for name, each in value.as_dict().items()}
    if isinstance(value, values.Outcome):
        return {"states": [item.state for item in value.items.values()]}
    if isinstance(value, values.Receipt | values.Report | values.Refusal):
        fields = {name: getattr(value, name) for name in value.__dataclass_fields__}
        return {name: plain(each) for name, each in fields.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def check(expected: Any, found: Any, where: str = "result") -> None:
    """Raises Problem where the result lacks something."""
    if isinstance(expected, Mapping):
        for name, each in expected.items():
            check(each, found.get(name) if isinstance(found, Mapping) else None, f"{where}.{name}")
    elif isinstance(expected, list):
        if not isinstance(found, list) or len(found) != len(expected):
            raise Problem(f"{where} is {found!r}, not {expected!r}")
        for number, each in enumerate(expected):
            check(each, found[number], f"{where}[{number}]")
    elif expected != found:
        raise Problem(f"{where} is {found!r}, not {expected!r}")


class Driver:
    """Carries out scenarios with one of the two clients."""

    def __init__(self, setup: Mapping[str, Any], module: Any, run: Callable[[Any], Any]) -> None:
        self._setup = setup
        self._module = module
        self._run = run
        self._kept: dict[str, Any] = {}

    def scenario(self, number: int, scenario: Mapping[str, Any]) -> str | None:
        """Why it failed; None: it did not."""
        world = dict(self._setup["worlds"][scenario.get("world", "open")])
        tokens = world.pop("tokens", {})
        token = tokens[scenario["token"]] if "token" in scenario else None
        client = self._made(token=token, timeout_s=scenario.get("timeout_s", 30.0), **world)
        self._kept = {}
        try:
            for at, step in enumerate(scenario["steps"]):
                try:
                    self._step(client.group(f"{self._setup['group']}-{number}"), step)
                except Problem as problem:
                    return f"step {at}, {step['do']}: {problem}"
        finally:
            self._run(client.close())
        return None

    def _made(self, **arguments: Any) -> Any:
        async def make() -> Any:
            return self._module.Client(**arguments)

        return self._run(make()) if self._module is aio else self._module.Client(**arguments)

    def _step(self, group: Any, step: Mapping[str, Any]) -> None:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            result = self._result(group, step)
        except kgsvc_client.KgsvcError as error:
            if "error" not in step:
                raise Problem(f"failed: {error} (fields {error.fields})") from error
            self._refused(step["error"], error)
            return
        if "error" in step:
            raise Problem(f"did not fail, but answered {plain(result)!r}"[:400])
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        if grown > step.get("grows_mib", grown):
            raise Problem(f"the process grew by {grown:.0f} MiB")
        self._kept[step.get("as", "")] = result
        check(self._filled(step.get("expect")), plain(result) if "expect" in step else None)
        if step.get("contains", "") not in (result if isinstance(result, str) else ""):
            raise Problem(f"{result!r} does not contain {step['contains']!r}")
        if "distinct" in step and {len(result), len({each.raw.SerializeToString() for each in result})} != {
            step["distinct"]
        }:
            raise Problem(f"there are {len(result)} entries")

    def _refused(self, expected: Mapping[str, Any], error: kgsvc_client.KgsvcError) -> None:
        found = {
            "code": error.code,
            "fields": [each.field for each in error.fields],
            "request_id": bool(error.request_id),
            "retry_after": error.retry_after_s is not None,
        }
        check(expected, found, "error")

    def _result(self, group: Any, step: Mapping[str, Any]) -> Any:
        name, arguments = step["do"], self._arguments(step)
        if name == "control":
            return self._control(arguments["action"])
        if name == "stream":
            return self._run(group.stream(self._items(arguments), time=arguments.get("time")))
        if name == "follow":
            return self._followed(group, arguments.get("cursor"))
        if name == "items":
            return self._listed(group.items(*arguments.get("states", ())))
        positional = [arguments.pop(key) for key in ("query", "content", "receipt") if key in arguments]
        if name == "add":
            positional = [arguments.pop("items")]
        called = getattr(group, name)(*positional, **arguments)
        return self._listed(called) if name in LISTINGS else self._run(called)

    def _arguments(self, step: Mapping[str, Any]) -> dict[str, Any]:
        given = {name: self._filled(value) for name, value in step.items() if name not in OURS}
        for name in TIMES:
            if name in given:
                given[name] = datetime.fromisoformat(given[name])
        if "repeat" in step:
            given["content"] *= step["repeat"]
        return given

    def _filled(self, value: Any) -> Any:
        """With `$name.part` as it was kept."""
        if isinstance(value, Mapping):
            return {name: self._filled(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self._filled(each) for each in value]
        if not isinstance(value, str) or not value.startswith("$"):
            return value
        name, *parts = value[1:].split(".")
        found = self._kept[name]
        for part in parts:
            if isinstance(found, Mapping):
                found = found[part]
            else:
                found = found[int(part)] if isinstance(found, Sequence) else getattr(found, part)
        return found

    def _items(self, arguments: Mapping[str, Any]) -> Iterator[Any]:
        if "items" in arguments:
            yield from arguments["items"]
            return
        actions = arguments.get("at", {})
        for number in range(arguments["count"]):
            if str(number) in actions:
                self._control(actions[str(number)])
            yield arguments["text"].replace("{n}", str(number)) + "x" * arguments.get("padding", 0)

    def _control(self, action: str) -> None:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self._setup['control']}/{action}", timeout=30) as answer:
            answer.read()

    def _followed(self, group: Any, cursor: str | None) -> dict[str, Any]:
        told = self._until_current(group.follow(cursor))
        return {
            "reset": told[0].reset,
            "facts": [fact.text for changes in told for fact in changes.facts],
            "removed_facts": sum(len(changes.removed_facts) for changes in told),
            "cursor": told[-1].cursor,
        }

    def _until_current(self, following: Any) -> list[values.Changes]:
        """What is told until there is no more."""
        told: list[values.Changes] = []
        while not (told and told[-1].current):
            told.append(self._run(anext(following)) if self._module is aio else next(following))
        self._run(following.aclose()) if self._module is aio else following.close()
        return told

    def _listed(self, listing: Any) -> list[Any]:
        if not isinstance(listing, AsyncIterator):
            return list(listing)

        async def collect() -> list[Any]:
            return [each async for each in listing]

        found: list[Any] = self._run(collect())
        return found


def main(arguments: Sequence[str]) -> int:
    """Run all scenarios; 1 if one has a problem."""
    setup, scenarios = (json.loads(Path(name).read_text()) for name in arguments[-2:])
    problems = 0
    with asyncio.Runner() as runner:
        awaited = arguments[0] == "--aio"
        driver = Driver(setup, aio if awaited else kgsvc_client, runner.run if awaited else lambda made: made)
        for number, scenario in enumerate(scenarios):
            problem = driver.scenario(number, scenario)
            problems += problem is not None
            print(json.dumps({"name": scenario["name"], "problem": problem}), flush=True)
    return min(problems, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
