"""`kgsvc doctor`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from kgsvc.cli import options
from kgsvc.cli.options import Failure
from kgsvc.cli.show import print_json, printable
from kgsvc.config import Loaded, Settings, describe

CHECK_S = 60.0  # for one check


@dataclass(slots=True)
class Findings:
    """What was looked at. `on_line` gets each line for people as soon as it is known."""

    on_line: Callable[[str], None]
    facts: dict[str, Any] = field(default_factory=dict)
    checks: list[dict[str, Any]] = field(default_factory=list)

    def fact(self, name: str, value: str) -> None:
        """Something worth knowing."""
        self.facts[name] = value
        self.on_line(f"{name:<14} {value}")

    def checked(self, name: str, problem: str | None) -> None:
        """A check that passed (no problem) or failed. Only what failed has a line."""
        self.checks.append({"check": name, "ok": problem is None, "problem": problem})
        if problem is not None:
            self.on_line(f"  FAIL {name}: {problem}")

    @property
    def failed(self) -> int:
        """How many checks failed."""
        return sum(not check["ok"] for check in self.checks)


@click.command("doctor")
@options.store
@options.data
@options.as_json
@options.config
def command(store: str | None, data: Path | None, as_json: bool, config: Path | None) -> None:
    """Check configuration, store and models.

    Opens the store itself, also while a service is running, and upgrades its schema as `serve` does; it makes
    none where there is none. Names the checks that fail; with --json all.
    """
    loaded = options.loaded(config, store_kind=store, store_data_dir=data)
    findings = Findings(on_line=(lambda _: None) if as_json else click.echo)
    with options.failures(loaded.settings):
        loaded.settings.verify()
        if not as_json:
            _show_configuration(loaded)
        _must_exist(loaded.settings)
        options.run(_examine(loaded, findings))
    if as_json:
        configuration = dict(describe(loaded.settings))
        print_json({"configuration": configuration, **findings.facts, "checks": findings.checks})
    if findings.failed:
        raise Failure(f"{findings.failed} of {len(findings.checks)} checks failed")
    if not as_json:
        click.echo(f"All {len(findings.checks)} checks passed.")


def _must_exist(settings: Settings) -> None:
    """Opening an embedded store makes its directory: of a mistyped one that would be a store without data,
    in which all is well. Raises Failure."""
    if settings.store.kind != "embedded":
        return
    from kgsvc.stores.embedded.connection import FILE_NAME  # loads the engine

    if not (settings.store.data_dir / FILE_NAME).exists():
        raise Failure(
            f"there is no store in {settings.store.data_dir.absolute()} (store.data_dir):"
            " `kgsvc serve` makes one"
        )


def _show_configuration(loaded: Loaded) -> None:
    click.echo("Configuration that is not at its default:")
    shown = dict(describe(loaded.settings))
    for key, origin in sorted(loaded.origins.items()):
        click.echo(f"  {key} = {printable(shown[key])}  ({origin})")
    if not loaded.origins:
        click.echo("  nothing")


async def _examine(loaded: Loaded, findings: Findings) -> None:
    from kgsvc import backends  # loads stores and models

    settings = loaded.settings
    store = await backends.open_store(settings)
    try:
        findings.fact("schema", str(await store.migrate()))
        info = await store.info()
        findings.fact("store", f"{info.kind} {info.version}, reachable")
        findings.checked("the store opens", None)
        models = backends.make_models(settings)
        extractor, embedder = models.extractor, models.embedder
        findings.fact("extractor", extractor.name)
        findings.fact("embedder", embedder.space if embedder else "none: search by keyword alone")
        await extractor.close()
        if models.cross_encoder is not None:
            await models.cross_encoder.close()
        if embedder is not None:
            await _check(findings, "the embedder answers", embedder.embed(["Does it answer?"]))
            await embedder.close()
    finally:
        await store.close()


async def _check(findings: Findings, name: str, work: Awaitable[object]) -> None:
    problem = None
    try:
        async with asyncio.timeout(CHECK_S):
            await work
    except TimeoutError:
        problem = f"not finished after {CHECK_S:g} s"
    except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
        problem = printable(str(error)) or type(error).__name__
    findings.checked(name, problem)
