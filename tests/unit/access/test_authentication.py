"""Who presents what, when the file changes, and how often one may be wrong."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from kgsvc.access.authentication import AccessSettings, Authenticator, Presented, Throttle
from kgsvc.access.file import Credential, changing, new_certificate, new_token
from kgsvc.access.scopes import Right
from kgsvc.domain.errors import Overloaded, Unauthenticated

SCOPES = {"acme/": Right.WRITE}
NOW_MS = 1_700_000_000_000


@dataclass
class StoodClock:
    """A clock that stands still until a test moves it."""

    ms: int = NOW_MS

    def now_ms(self) -> int:
        return self.ms

    def monotonic(self) -> float:
        return self.ms / 1_000


async def write(path: Path, *credentials: Credential) -> None:
    def change() -> None:
        with changing(path) as kept:
            kept[:] = credentials

    await asyncio.to_thread(change)


async def opened(path: Path, clock: StoodClock, *credentials: Credential) -> Authenticator:
    await write(path, *credentials)
    made = Authenticator(AccessSettings(file=path, reload_s=0.01), clock)
    await made.open()
    return made


def showing(token: str | None, certificate: Sequence[str] = (), address: str = "10.0.0.1") -> Presented:
    return Presented(None if token is None else f"Bearer {token}", certificate, address)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_a_token_and_a_certificate_prove_somebody(tmp_path: Path) -> None:
    made, token = new_token("app", SCOPES, NOW_MS, None)
    known = new_certificate("gateway", SCOPES, NOW_MS, None, "gateway.test")
    access = await opened(tmp_path / "a.json", StoodClock(), made, known)
    assert (await access.authenticate(showing(token))).name == "app"
    assert (await access.authenticate(showing(None, ["other.test", "gateway.test"]))).name == "gateway"
    assert (await access.authenticate(showing(token, ["gateway.test"]))).name == "app", "the token is meant"


async def test_what_proves_nobody(tmp_path: Path) -> None:
    made, token = new_token("app", SCOPES, NOW_MS, None)
    access = await opened(tmp_path / "a.json", StoodClock(), made)
    wrong = [f"{token}x", token[:-1], token.upper(), f" {token}", token.replace(made.id, "0" * 12), "x", ""]
    for each in (None, *wrong):
        with pytest.raises(Unauthenticated) as caught:
            await access.authenticate(showing(each, ["unknown.test"]))
        assert not each or each not in str(caught.value)
    for header in (token, f"Basic {token}", "Bearer", ""):
        with pytest.raises((Unauthenticated, Overloaded)):
            await access.authenticate(Presented(header, (), "10.0.0.2"))


async def test_a_credential_is_valid_until_it_expires(tmp_path: Path) -> None:
    clock = StoodClock()
    made, token = new_token("app", SCOPES, NOW_MS, NOW_MS + 1_000)
    access = await opened(tmp_path / "a.json", clock, made)
    clock.ms += 999
    await access.authenticate(showing(token))
    clock.ms += 1
    with pytest.raises(Unauthenticated, match="expired"):
        await access.authenticate(showing(token))


async def test_changes_of_the_file_are_taken_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, clock = tmp_path / "a.json", StoodClock()
    first, first_token = new_token("first", SCOPES, NOW_MS, None)
    second, second_token = new_token("second", SCOPES, NOW_MS, None)
    access = await opened(path, clock, first)
    principal = await access.authenticate(showing(first_token))
    running, ended = asyncio.create_task(access.run()), asyncio.create_task(access.ended(principal))
    await write(path, first, second)
    await until(lambda: "read again" in caplog.text or bool(access._by_id.keys() >= {second.id}))
    await access.authenticate(showing(second_token))
    assert not ended.done(), "it is as valid as before"
    await asyncio.to_thread(path.write_text, "broken")
    await until(lambda: "not taken over" in caplog.text)
    await access.authenticate(showing(first_token))
    await write_over(path, second)
    async with asyncio.timeout(10):
        await ended
    with pytest.raises(Unauthenticated):
        await access.authenticate(showing(first_token))
    await asyncio.to_thread(path.unlink)
    await until(lambda: not access._by_id)
    with pytest.raises(Unauthenticated):
        await access.authenticate(showing(second_token))
    running.cancel()


async def test_other_scopes_end_what_was_opened_with_the_former(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    made, token = new_token("app", SCOPES, NOW_MS, None)
    access = await opened(path, StoodClock(), made)
    ended = asyncio.create_task(access.ended(await access.authenticate(showing(token))))
    running = asyncio.create_task(access.run())
    await write(path, replace(made, scopes={"acme/": Right.READ}))
    async with asyncio.timeout(10):
        await ended
    assert (await access.authenticate(showing(token))).scopes == {"acme/": Right.READ}
    running.cancel()


async def write_over(path: Path, *credentials: Credential) -> None:
    await asyncio.to_thread(path.unlink)
    await write(path, *credentials)


async def test_wrong_credentials_wait_and_right_ones_do_not(tmp_path: Path) -> None:
    clock = StoodClock()
    made, token = new_token("app", SCOPES, NOW_MS, None)
    _, fresh = other = new_token("late", SCOPES, NOW_MS, None)
    access = await opened(tmp_path / "a.json", clock, made, other[0])
    await access.authenticate(showing(token))
    for _ in range(10):
        with pytest.raises(Unauthenticated):
            await access.authenticate(showing("kgsvc_0_wrong"))
    with pytest.raises(Overloaded) as caught:
        await access.authenticate(showing(fresh))
    assert caught.value.retry_after_ms == 1_000
    await access.authenticate(showing(token)), "it was right before"
    await access.authenticate(showing(fresh, address="10.0.0.2"))
    with pytest.raises(Unauthenticated):
        await access.authenticate(showing(None)), "no credential is no wrong one"
    clock.ms += 1_000
    await access.authenticate(showing(fresh))


async def test_what_was_right_once_and_is_no_more_waits_like_any_other(tmp_path: Path) -> None:
    clock = StoodClock()
    old, expired = new_token("old", SCOPES, NOW_MS, NOW_MS + 1_000)
    new, renewed = new_token("new", SCOPES, NOW_MS, None)
    access = await opened(tmp_path / "a.json", clock, old, new)
    await access.authenticate(showing(expired))
    clock.ms += 1_000
    for _ in range(1_000):
        with pytest.raises((Unauthenticated, Overloaded)):
            await access.authenticate(showing(expired))
    clock.ms += 1_000
    await access.authenticate(showing(renewed)), "from the same address"


def test_the_throttle_forgives_and_forgets() -> None:
    throttle = Throttle()
    for _ in range(12):
        throttle.failed("a", 0.0)
    assert (throttle.wait_s("a", 0.0), throttle.wait_s("a", 1.0), throttle.wait_s("b", 0.0)) == (
        1.0,
        0.0,
        0.0,
    )
    for number in range(10_000):
        throttle.failed(f"x{number}", 1.0)
    assert throttle.wait_s("a", 0.0) == 0.0
    assert len(throttle._full_at) == 10_000
