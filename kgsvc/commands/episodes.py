"""GetEpisodes (spec 004 §4.3.3, design §2): the latest episodes in chronological order, in pages if asked."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kgsvc.domain.errors import InvalidArgument, LimitExceeded, Violation
from kgsvc.domain.model.graph import Episode, source_url_of
from kgsvc.domain.model.identity import digest
from kgsvc.stores.protocol import EpisodeCut, GraphStore, ReadStore

_OVERHEAD_BYTES = 128  # of an episode's message beside its texts, generously
_TAG_BYTES = 3  # of an entry of a list
_ANY_MS = 2**53  # beyond every time that can be accepted
Key = tuple[int, str]


@dataclass(frozen=True, slots=True)
class EpisodePage:
    """Some episodes, oldest first, and what asks for the next ones (None: these were the last)."""

    episodes: tuple[Episode, ...]
    next_token: str | None = None
    edges: Mapping[str, Sequence[str]] = field(default_factory=dict)  # episode -> facts that it tells


async def all_at_once(store: ReadStore, group_id: str, last_n: int, max_bytes: int) -> EpisodePage:
    """The latest `last_n` in one answer. Raises LimitExceeded when they have more than `max_bytes`."""
    found = await store.recent_episodes(group_id, last_n, EpisodeCut(max_bytes=max_bytes))
    edges = await _edges(store, group_id, found)
    if sum(_size(episode, edges) for episode in found) > max_bytes:
        says = (
            f"these episodes have more than {max_bytes} bytes; read them in pages by page_size and page_token"
        )
        raise LimitExceeded(says, [Violation("page_token", says)])
    return EpisodePage(tuple(found), edges=edges)


async def one_page(
    store: ReadStore, group_id: str, last_n: int, page_size: int, token: str | None, max_bytes: int
) -> EpisodePage:
    """Up to `page_size` of the latest `last_n`, fewer where `max_bytes` are reached, at least one.

    The range is fixed by the first page: later episodes are not in it. Raises InvalidArgument for a token
    that was not made for this group and `last_n`.
    """
    upto, after = await _start(store, group_id) if token is None else _decode(token, group_id, last_n)
    if upto is None:
        return EpisodePage(())
    found = await store.recent_episodes(group_id, last_n, EpisodeCut(upto, after, max_bytes))
    edges = await _edges(store, group_id, found[:page_size])
    page = _fitting(found[:page_size], edges, max_bytes)
    if not page or _key(page[-1]) == upto:
        return EpisodePage(page, edges=edges)
    return EpisodePage(page, _encode(group_id, last_n, upto, _key(page[-1])), edges)


async def _edges(store: ReadStore, group_id: str, episodes: Sequence[Episode]) -> dict[str, tuple[str, ...]]:
    return await store.episode_edges(group_id, [episode.uuid for episode in episodes]) if episodes else {}


async def _start(store: GraphStore, group_id: str) -> tuple[Key | None, Key | None]:
    newest = await store.recent_episodes(group_id, 1)
    return (_key(newest[0]) if newest else None), None


def _fitting(
    episodes: list[Episode], edges: Mapping[str, Sequence[str]], max_bytes: int
) -> tuple[Episode, ...]:
    taken: list[Episode] = []
    total = 0
    for episode in episodes:
        total += _size(episode, edges)
        if taken and total > max_bytes:
            break
        taken.append(episode)
    return tuple(taken)


def _size(episode: Episode, edges: Mapping[str, Sequence[str]]) -> int:
    about = episode.source_description
    texts = (episode.body, episode.name, about, source_url_of(about), episode.uuid, episode.group_id)
    told = sum(len(uuid.encode()) + _TAG_BYTES for uuid in edges.get(episode.uuid, ()))
    return _OVERHEAD_BYTES + told + sum(len(text.encode()) for text in texts if text)


def _key(episode: Episode) -> Key:
    return episode.reference_ms, episode.uuid


def _listing(group_id: str, last_n: int) -> str:
    return digest(group_id, last_n)[:12]


def _encode(group_id: str, last_n: int, upto: Key, after: Key) -> str:
    text = json.dumps([_listing(group_id, last_n), *upto, *after], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode()


def _decode(token: str, group_id: str, last_n: int) -> tuple[Key, Key]:
    try:
        match json.loads(base64.b64decode(token, altchars=b"-_", validate=True)):
            case [str(listing), int(a), str(b), int(c), str(d)] if listing == _listing(group_id, last_n):
                (b + d).encode()  # JSON can name half a character, which no store takes
                if max(abs(a), abs(c)) < _ANY_MS:
                    return (a, b), (c, d)
    except (ValueError, binascii.Error, RecursionError):
        pass  # as wrong as a token of another listing
    says = "is not a token of this listing"
    raise InvalidArgument(f"page_token: {says}", [Violation("page_token", says)])
