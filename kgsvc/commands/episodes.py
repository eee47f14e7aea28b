"""GetEpisodes (docs/contract.md) and DeleteEpisode.

Episodes are listed in chronological order, in pages if asked. Deleting an episode that does not exist
succeeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kgsvc.commands.core import Core, page_token, parts_of, the_one, until_applied, wrong_token
from kgsvc.domain.errors import InvalidArgument, LimitExceeded, Violation
from kgsvc.domain.model.delta import GraphDelta
from kgsvc.domain.model.graph import Episode, Source, source_url_of
from kgsvc.domain.model.keys import digest
from kgsvc.stores.protocol import EpisodeCut, ReadStore

_OVERHEAD_BYTES = 128  # of an episode's message without its texts, rounded up
_TAG_BYTES = 3  # of an entry of a list
_ANY_MS = 2**53  # beyond every time that can be accepted
Key = tuple[int, str]


@dataclass(frozen=True, slots=True)
class EpisodePage:
    """Some episodes, oldest first, and the token of the next page (None: these were the last)."""

    episodes: tuple[Episode, ...]
    next_token: str | None = None
    edges: Mapping[str, Sequence[str]] = field(default_factory=dict)  # episode -> the facts it states


async def get_episodes(
    core: Core, group_id: str, last_n: int, page_size: int | None, token: str | None
) -> EpisodePage:
    """The latest `last_n` episodes: all at once without page size and token, else one page.

    Raises LimitExceeded (too much for one answer), InvalidArgument (not a token of this listing),
    StoreUnavailable.
    """
    most = core.limits.response_bytes
    if page_size is None and token is None:
        return await _all_at_once(core.store, group_id, last_n, most)
    return await _one_page(core.store, group_id, last_n, page_size or last_n, token, most)


async def _all_at_once(store: ReadStore, group_id: str, last_n: int, max_bytes: int) -> EpisodePage:
    rows = await store.recent_episodes(group_id, last_n, EpisodeCut(max_bytes=max_bytes))
    edges = await _edges(store, group_id, rows)
    if sum(_size(episode, edges) for episode in rows) > max_bytes:
        problem = f"these episodes have more than {max_bytes} bytes; "
        problem += "read them in pages, with page_size and page_token"
        raise LimitExceeded(problem, [Violation("page_token", problem)])
    return EpisodePage(tuple(rows), edges=edges)


async def _one_page(
    store: ReadStore, group_id: str, last_n: int, page_size: int, token: str | None, max_bytes: int
) -> EpisodePage:
    """Up to `page_size` of the latest `last_n`, fewer where `max_bytes` are reached, at least one. The first
    page fixes the range: later episodes are not in it."""
    upto: Key | None
    after: Key | None
    if token is None:
        newest = await store.recent_episodes(group_id, 1)
        upto, after = (_key(newest[0]) if newest else None), None
    else:
        upto, after = _decoded(token, group_id, last_n)
    if upto is None:
        return EpisodePage(())
    rows = await store.recent_episodes(group_id, last_n, EpisodeCut(upto, after, max_bytes))
    edges = await _edges(store, group_id, rows[:page_size])
    page = _fitting(rows[:page_size], edges, max_bytes)
    if not page or _key(page[-1]) == upto:
        return EpisodePage(page, edges=edges)
    next_token = page_token(_listing(group_id, last_n), *upto, *_key(page[-1]))
    return EpisodePage(page, next_token, edges)


async def _edges(store: ReadStore, group_id: str, episodes: Sequence[Episode]) -> dict[str, tuple[str, ...]]:
    return await store.episode_edges(group_id, [episode.uuid for episode in episodes]) if episodes else {}


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
    stated = sum(len(uuid.encode()) + _TAG_BYTES for uuid in edges.get(episode.uuid, ()))
    return _OVERHEAD_BYTES + stated + sum(len(text.encode()) for text in texts if text)


def _key(episode: Episode) -> Key:
    return episode.reference_ms, episode.uuid


def _listing(group_id: str, last_n: int) -> str:
    return digest(group_id, last_n)[:12]


def _decoded(token: str, group_id: str, last_n: int) -> tuple[Key, Key]:
    match parts_of(token):
        case [str(listing), int(a), str(b), int(c), str(d)] if listing == _listing(group_id, last_n):
            if max(abs(a), abs(c)) < _ANY_MS:
                return (a, b), (c, d)
    raise wrong_token()


def refuse_chunk(episode: Episode) -> None:
    """Raises InvalidArgument for a chunk: a document with a hole would not be the text that was sent."""
    if episode.source is Source.DOCUMENT:
        problem = "is a chunk of a document; DeleteDocument removes it with the others"
        raise InvalidArgument.of([Violation("uuid", problem)])


@until_applied
async def delete_episode(core: Core, uuid: str, group_id: str | None) -> bool:
    """Delete an episode with its mentions and cancel work on it; whether it existed. Facts and entities that
    were read from it stay. Raises Conflict (uuid in several groups), InvalidArgument (a chunk of a document),
    Overloaded, StoreUnavailable."""
    episode = the_one(await core.store.episode(uuid, group_id), "an episode")
    if episode is None:
        return False
    refuse_chunk(episode)
    head = (await core.store.names(episode.group_id, ())).head
    delta = GraphDelta(episode.group_id, core.system_ms(head), remove_episodes=(uuid,))
    await core.apply(delta, head)
    core.activity.poke()
    return True
