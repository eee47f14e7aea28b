"""An index of entities and episodes in the middle of a revision that touches more than a page holds."""

import pytest

from kgsvc.domain.errors import StoreUnavailable
from kgsvc.domain.model.delta import GroupHead
from kgsvc.search.index.cache import IndexCache
from kgsvc.search.index.group import GroupTexts, LazyPart, SearchedGroup
from kgsvc.search.settings import SearchSettings
from kgsvc.stores.search_protocol import TEXT_BYTES, TextChanges
from tests.support.model_store import ModelStore
from tests.support.samples import NOW, accepted, entity, episode, head, write

ENTITIES, EPISODES, PAGE = 7, 5, 3


class Store(ModelStore):
    """Notes what is asked, and fails when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[int, str]] = []
        self.fails_at: int | None = None  # the number of the read

    async def text_changes(
        self, group_id: str, after_rev: int, limit: int, max_bytes: int = TEXT_BYTES, after_uuid: str = ""
    ) -> TextChanges:
        self.asked.append((after_rev, after_uuid))
        if len(self.asked) == self.fails_at:
            raise StoreUnavailable("told to fail")
        return await super().text_changes(group_id, after_rev, limit, max_bytes, after_uuid)


@pytest.fixture
async def store() -> Store:
    """A group whose first revision is larger than a page."""
    made = Store()
    await accepted(made, *(episode("g", f"e{n}") for n in range(EPISODES)))
    entities = [entity("g", f"n{n}", f"Name {n}") for n in range(ENTITIES)]
    await write(made, "g", entities=entities, found=[f"e{n}" for n in range(EPISODES)])
    return made


def cache_of(store: Store) -> IndexCache:
    return IndexCache(store, SearchSettings(load_page=PAGE), "", 0)


def held(groups: list[SearchedGroup]) -> tuple[int, int]:
    texts = groups[0].texts
    return len(texts.nodes), len(texts.episodes)


async def test_a_revision_is_loaded_page_by_page(store: Store) -> None:
    cache = cache_of(store)
    assert await cache.use([await head(store, "g")], held, parts=[LazyPart.TEXTS]) == (ENTITIES, EPISODES)
    assert store.asked == [(0, ""), (0, "e2"), (0, "n2"), (0, "n5")]
    assert await cache.use([await head(store, "g")], held, parts=[LazyPart.TEXTS]) == (ENTITIES, EPISODES)
    assert len(store.asked) == 4, "it was whole"


async def test_half_a_revision_is_not_taken_for_the_whole(store: Store) -> None:
    """The store fails after a page: who comes next does not find half of it, and reads only the rest."""
    cache = cache_of(store)
    store.fails_at = 3
    with pytest.raises(StoreUnavailable):
        await cache.use([await head(store, "g")], held, parts=[LazyPart.TEXTS])
    await write(store, "g", entities=[entity("g", "n0", "Name 0", summary="later")])
    assert await cache.use([await head(store, "g")], held, parts=[LazyPart.TEXTS]) == (ENTITIES, EPISODES)
    assert store.asked[2:] == [(0, "n2"), (0, "n2"), (0, "n5")]


async def test_a_group_deleted_in_the_middle_of_a_revision(store: Store) -> None:
    cache = cache_of(store)
    store.fails_at = 3
    with pytest.raises(StoreUnavailable):
        await cache.use([await head(store, "g")], held, parts=[LazyPart.TEXTS])
    await store.delete_group("g", NOW)
    await write(store, "g", entities=[entity("g", "new", "New")])
    assert await cache.use([await head(store, "g")], held, parts=[LazyPart.TEXTS]) == (1, 0)


async def test_a_cut_index_is_behind_the_revision(store: Store) -> None:
    """What an index says of itself is what it holds all of."""
    index = GroupTexts("g")
    index.apply(await store.text_changes("g", 0, PAGE))
    assert (index.rev, index.uuid) == (0, "e2")
    index.apply(await store.text_changes("g", index.rev, 99, after_uuid=index.uuid))
    now: GroupHead = await head(store, "g")
    assert (index.rev, index.uuid) == (now.rev, "")
