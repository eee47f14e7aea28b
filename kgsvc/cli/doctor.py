"""`kgsvc doctor`: whether a service would work here, in a minute and a page."""

from __future__ import annotations

import asyncio
import shutil
import stat
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from kgsvc.cli import options
from kgsvc.cli.migrate import is_there, wanted_schema
from kgsvc.cli.options import Failure
from kgsvc.cli.show import print_json, printable
from kgsvc.config import KEYS, ConfigError, Loaded, Settings, describe
from kgsvc.domain.errors import KgError, ModelUnavailable
from kgsvc.domain.model.delta import GraphDelta, Guard
from kgsvc.domain.model.graph import Entity, Fact, FactKind
from kgsvc.domain.model.items import SCRATCH
from kgsvc.domain.model.keys import fact_key, name_key, slot_of
from kgsvc.domain.model.modes import ServiceModes
from kgsvc.domain.text import tokens
from kgsvc.models.protocol import Embedder
from kgsvc.stores.admission import check_schema
from kgsvc.stores.protocol import Store
from kgsvc.stores.search_protocol import FactsAsked

CHECK_S = 30.0  # for one check, as long as there is time left
ALL_S = 45.0  # from then on a second for each
_GROUP = f"{SCRATCH}check"  # always the same: what a run that was killed left, the next one removes
_FACT, _ENDS = "looked-for", ("doctor", "sentence")
_SAID = "kgsvc doctor looks for this sentence"
_APART_MS = 2_000  # clocks that differ by more make facts begin at wrong times
_FREE_BYTES = 1024**3
_FILES = ("server.tls_key", "client.tls_key", "access.file", "store.digest_key")  # that hold a secret
T = TypeVar("T")


class Fault(KgError):
    """What is wrong, and what to change."""

    def __init__(self, problem: str, change: str) -> None:
        super().__init__(f"{problem} (change {change})")


@dataclass(slots=True)
class Findings:
    """What was looked at. `on_line` gets each line for people as soon as it is known."""

    on_line: Callable[[str], None]
    checks: list[dict[str, Any]] = field(default_factory=list)
    until: float = field(default_factory=lambda: time.monotonic() + ALL_S)

    def add(self, name: str, found: str, ok: bool) -> None:
        """A check that passed or failed, and what it found."""
        self.checks.append({"check": name, "ok": ok, "found": found})
        self.on_line(f"{'ok  ' if ok else 'FAIL'}  {name:<12}  {printable(found)}")

    @property
    def failed(self) -> int:
        """How many checks failed."""
        return sum(not check["ok"] for check in self.checks)

    async def look(self, name: str, work: Awaitable[tuple[str, T]], change: str) -> T | None:
        """The result of a check, which also says what it found; None where it failed. `change` is what to
        change where the error does not say so itself."""
        within_s = min(CHECK_S, max(1.0, self.until - time.monotonic()))
        try:
            async with asyncio.timeout(within_s):
                found, result = await work
        except TimeoutError:
            slow = f"no answer within {within_s:.0f} s; if what should answer has just started, try again"
            self.add(name, str(Fault(slow, change)), ok=False)
        except (Fault, ConfigError) as fault:
            self.add(name, str(fault), ok=False)
        except KgError as error:
            self.add(name, str(Fault(str(error) or type(error).__name__, change)), ok=False)
        except OSError as error:
            self.add(name, str(Fault(f"{error.filename or name}: {error.strerror}", change)), ok=False)
        else:
            self.add(name, found, ok=True)
            return result
        return None


@click.command("doctor")
@options.store
@options.data
@options.as_json
@options.config
def command(store: str | None, data: Path | None, as_json: bool, config: Path | None) -> None:
    """Check configuration, store, models, disk, clock and files of credentials; say what to change.

    Opens the store itself, also while a service is running; it makes none where there is none, and no
    schema. What it writes to try the store is in a group of its own, which is deleted again.
    """
    loaded = options.loaded(config, store_kind=store, store_data_dir=data)
    findings = Findings(on_line=(lambda _: None) if as_json else click.echo)
    if not as_json:
        _show_configuration(loaded)
    options.run(_examine(loaded, findings))
    if as_json:
        print_json({"configuration": dict(describe(loaded.settings)), "checks": findings.checks})
    if findings.failed:
        raise Failure(f"{findings.failed} of {len(findings.checks)} checks failed")
    if not as_json:
        click.echo(f"All {len(findings.checks)} checks passed.")


def _show_configuration(loaded: Loaded) -> None:
    click.echo("Configuration that is not at its default (`kgsvc config` shows all):")
    shown = dict(describe(loaded.settings))
    for key, origin in sorted(loaded.origins.items()):
        click.echo(f"  {key} = {printable(shown[key])}  ({origin})")
    if not loaded.origins:
        click.echo("  nothing")


async def _examine(loaded: Loaded, findings: Findings) -> None:
    settings = loaded.settings
    await findings.look("settings", _verified(settings), "the settings named")
    await findings.look("credentials", _kept(loaded), "who may read it: `chmod 600 FILE`")
    await findings.look("disk", _roomy(settings), _place(settings))
    modes = await _examine_store(settings, findings)
    if modes is not None and modes.model_off and _by_server(settings):
        findings.add("models", "not asked: they are switched off (`kgsvc mode`)", ok=True)
    else:
        await _examine_models(settings, findings)


def _by_server(settings: Settings) -> bool:
    return "openai" in {settings.extractor, settings.embedder}


async def _verified(settings: Settings) -> tuple[str, None]:
    settings.verify()
    return f"{settings.store.kind} store, {settings.extractor} extractor, {settings.embedder} embedder", None


async def _kept(loaded: Loaded) -> tuple[str, None]:
    """Files with secrets are there, and not everybody can read them."""
    files = {name: getattr(getattr(loaded.settings, KEYS[name].section), KEYS[name].field) for name in _FILES}
    secrets = (loaded.origins.get(name) for name, key in KEYS.items() if key.secret)
    files |= {origin: Path(origin) for origin in secrets if origin not in {None, "flag", "environment"}}
    named = {name: path for name, path in files.items() if path is not None}
    for name, path in named.items():
        try:
            everybody = path.stat().st_mode & stat.S_IROTH
        except OSError as error:
            raise Fault(f"{path} cannot be read: {error.strerror}", name) from error
        if everybody:
            raise Fault(f"everybody can read {path}, which holds a secret", f"that: `chmod 600 {path}`")
    if not named:
        return "no secret is in a file", None
    return f"files with secrets: {len(named)}, none of which everybody can read", None


def _place(settings: Settings) -> str:
    return "store.data_dir" if settings.store.kind == "embedded" else "TMPDIR"


async def _roomy(settings: Settings) -> tuple[str, None]:
    """Where the embedded store lies, and where long texts are held for a while, there is room."""
    places = {"TMPDIR": Path(tempfile.gettempdir())}
    if settings.store.kind == "embedded" and settings.store.data_dir.is_dir():
        places["store.data_dir"] = settings.store.data_dir
    free = {name: shutil.disk_usage(path).free for name, path in places.items()}
    for name, size in free.items():
        if size < _FREE_BYTES:
            raise Fault(f"{places[name].absolute()} has {size / 1024**2:,.0f} MiB free", name)
    return ", ".join(f"{size / 1024**3:,.1f} GiB free ({name})" for name, size in free.items()), None


async def _examine_store(settings: Settings, findings: Findings) -> ServiceModes | None:
    """The modes that are on, where they can be read."""
    store = await findings.look("store", _opened(settings), options.store_place(settings))
    if store is None:
        return None
    modes, place = None, _database(settings)
    try:
        if await findings.look("schema", _schema(settings, store), place) is None:
            return None
        await findings.look("indexes", _indexes(store), place)
        modes = await findings.look("modes", _modes(store), place)
        if modes is None or not modes.read_only:
            await findings.look("write", try_writes(store), place)
        await findings.look("vectors", _vectors(settings, store), "models.embedder")
        await findings.look("clock", _clock(store), "the clocks of both machines: keep them by NTP")
    finally:
        await store.close()
    return modes


def _database(settings: Settings) -> str:
    return "store.data_dir" if settings.store.kind == "embedded" else "store.neo4j_database"


async def _opened(settings: Settings) -> tuple[str, Store]:
    from kgsvc import backends  # loads stores and models

    if not is_there(settings):
        folder = settings.store.data_dir.absolute()
        raise Fault(f"there is no store in {folder}; `kgsvc serve` makes one", "store.data_dir")
    try:
        store = await backends.open_store(settings)
    except KgError as error:
        refused = "password" in str(error)
        place = options.store_place(settings).replace(" is ", ", which is ")
        change = "store.neo4j_user or store.neo4j_password" if refused else place
        raise Fault(str(error), change) from error
    try:
        info = await store.info()
    except KgError as error:
        await store.close()
        raise Fault(str(error), _database(settings)) from error
    return f"{info.kind} {info.version} answers", store


async def _schema(settings: Settings, store: Store) -> tuple[str, int]:
    found = (await store.info()).schema_version
    if not found:
        raise KgError("there is none of kgsvc; `kgsvc serve` makes it")
    check_schema("the store", found, wanted_schema(settings))
    return f"version {found}, which is that of this kgsvc", found


async def _modes(store: Store) -> tuple[str, ServiceModes]:
    """What an operator holds back is no fault, and is said."""
    now = (await store.activity()).modes
    on = {"read-only, so nothing is written here": now.read_only_ms, "models off": now.model_off_ms}
    told = [f"{name} (since {_utc(ms)})" for name, ms in on.items() if ms is not None]
    told += [f"{now.paused_groups:,} groups paused"] if now.paused_groups else []
    return "; ".join(told) or "none is on, no group is paused", now


def _utc(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


async def _indexes(store: Store) -> tuple[str, bool]:
    if bad := await store.bad_indexes():
        more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""
        raise KgError(f"missing or not online: {', '.join(bad[:3])}{more}")
    return "all there and online", True


async def try_writes(store: Store) -> tuple[str, bool]:
    """A fact is written, found by its words and deleted with all that came with it."""
    began, now_ms = time.perf_counter(), time.time_ns() // 1_000_000
    await _clean(store, now_ms)
    head = (await store.names(_GROUP, ())).head
    delta = _sample(max(now_ms, head.last_ms + 1))
    asked = FactsAsked(tuple(dict.fromkeys(tokens(_SAID))), (), None, "", delta.system_ms, 1)
    try:
        await store.apply(delta, Guard(head.rev, head.epoch))
        found = await store.search_candidates(_GROUP, asked)
    finally:
        await _clean(store, now_ms)
    if found is None or [each.uuid for each in found.keyword] != [_FACT]:
        raise KgError("what was written is not found; if no other doctor ran, the indexes are damaged")
    if await store.heads([_GROUP]):
        raise KgError("what was written is still there after it was deleted")
    return f"written, found and deleted in {_ms(began)}; nothing is left", True


async def _vectors(settings: Settings, store: Store) -> tuple[str, bool]:
    """Whether groups have vectors of another embedder than the configured one."""
    from kgsvc import backends

    try:
        embedder = backends.make_embedder(settings)
    except ConfigError:  # the embedder's own line says it
        return "not compared: the embedder cannot be made", True
    if embedder is None:
        return "not compared: there is no embedder", True
    heads = await store.heads(await store.group_ids())
    others = [head for head in heads.values() if head.space not in {"", embedder.space}]
    under_way = {each.group_id: each for each in await store.reembeddings()}
    await embedder.close()
    if not others:
        return f"{len(heads):,} groups, none with vectors of another embedder", True
    left = [under_way[head.group_id] for head in others if head.group_id in under_way]
    said = f"{len(others):,} of {len(heads):,} groups have vectors of another embedder than {embedder.space}"
    if not left:
        return f"{said}; `kgsvc serve` embeds them anew", True
    least = min(left, key=lambda each: each.share)
    return f"{said}; {len(left):,} are embedded anew, at least {least.share:.0%} of each looked through", True


async def _clean(store: Store, now_ms: int) -> None:
    """Delete the group and its record, where there is one."""
    if await store.heads([_GROUP]):
        await store.delete_group(_GROUP, now_ms)
        await store.forget_group(_GROUP)


def _sample(now_ms: int) -> GraphDelta:
    def entity(name: str) -> Entity:
        return Entity(uuid=name, group_id=_GROUP, name=name, created_ms=now_ms)

    one, other = map(entity, _ENDS)
    slot = slot_of(FactKind.STATE, one.uuid, "LOOKS_FOR", other.uuid, {})
    fact = Fact(
        uuid=_FACT,
        group_id=_GROUP,
        name="LOOKS_FOR",
        fact=_SAID,
        source_uuid=one.uuid,
        target_uuid=other.uuid,
        source_name=one.name,
        target_name=other.name,
        created_ms=now_ms,
        reference_ms=now_ms,
        slot=slot,
        fact_key=fact_key(slot, other.uuid, now_ms, _SAID),
    )
    names = {name_key(each.name): each.uuid for each in (one, other)}
    return GraphDelta(_GROUP, now_ms, entities=(one, other), names=names, facts=(fact,))


async def _clock(store: Store) -> tuple[str, bool]:
    before = time.time_ns() // 1_000_000
    theirs = await store.clock_ms()
    apart = max(before - theirs, theirs - time.time_ns() // 1_000_000, 0)
    if apart > _APART_MS:
        which = "behind" if theirs > before else "ahead of"
        raise KgError(f"this machine is {apart / 1000:,.1f} s {which} the store")
    return f"{apart / 1000:,.1f} s apart from the store's", True


async def _examine_models(settings: Settings, findings: Findings) -> None:
    """One attempt each: a doctor is asked what is wrong now."""
    from kgsvc import backends

    impatient = replace(settings.openai, attempts=1, timeout_s=min(settings.openai.timeout_s, CHECK_S))
    settings = replace(settings, openai=impatient)
    await findings.look("extractor", _extractor(settings), "openai.base_url")
    try:
        embedder = backends.make_embedder(settings)
    except ConfigError as error:
        findings.add("embedder", str(error), ok=False)
        return
    if embedder is None:
        findings.add("embedder", "none: searches go by keywords alone", ok=True)
        return
    await findings.look("embedder", _embedded(embedder), "openai.base_url")
    await embedder.close()


def _model_fault(error: KgError, model: str) -> Fault:
    """What to change for what a model server answered; `model` are the settings that name the model."""
    text = str(error)
    if "(HTTP 401)" in text:
        return Fault(text, "openai.api_key")
    unknown = "(HTTP 404)" in text or not isinstance(error, ModelUnavailable)
    return Fault(text, model if unknown else "openai.base_url")


async def _extractor(settings: Settings) -> tuple[str, bool]:
    if settings.extractor == "offline":
        return "rules, without a model", True
    from kgsvc.models.openai.chat import Chat
    from kgsvc.models.openai.single_calls import OpenAISummariser
    from kgsvc.models.openai.transport import Transport

    summariser = OpenAISummariser(Chat(Transport(settings.openai), settings.chat))
    began = time.perf_counter()
    try:
        await summariser.combine(_GROUP, "Ann likes tea.", "Ben likes coffee.")
    except KgError as error:
        raise _model_fault(error, "chat.model") from error
    finally:
        await summariser.close()
    return f"{settings.chat.model} answers in {_ms(began)}", True


async def _embedded(embedder: Embedder) -> tuple[str, bool]:
    began = time.perf_counter()
    try:
        vectors, _usage = await embedder.embed(["Does it answer?"])
    except KgError as error:
        raise _model_fault(error, "embedding.model or embedding.dimension") from error
    return f"{embedder.space} answers in {_ms(began)} with {vectors.shape[1]} numbers", True


def _ms(began: float) -> str:
    return f"{(time.perf_counter() - began) * 1000:,.0f} ms"
