"""ListGroups: the groups that a caller may read, and how much each holds."""

from __future__ import annotations

from dataclasses import dataclass

from kgsvc.access.scopes import current_caller, next_after, spans
from kgsvc.commands.core import Core, page_token, parts_of, wrong_token
from kgsvc.domain.model.fills import Reembedding
from kgsvc.stores.protocol import GroupSize

_READ_AT_ONCE = 20  # groups that are counted in one statement


@dataclass(frozen=True, slots=True)
class ListedGroup:
    """How much a group holds, the space of its vectors, and how far it is on its way to another one."""

    size: GroupSize
    space: str
    reembedding: Reembedding | None


async def list_groups(core: Core, page_size: int, token: str | None) -> tuple[list[ListedGroup], str | None]:
    """Up to `page_size` groups by their names, and the token of the next page. Raises InvalidArgument (not a
    token of this listing), StoreUnavailable."""
    after = "" if token is None else next_after(_after(token))
    found: list[GroupSize] = []
    for first, end in spans(current_caller.get().principal.scopes):
        place = max(first, after)
        while place < end and len(found) <= page_size:
            wanted = min(_READ_AT_ONCE, page_size + 1 - len(found))
            some = await core.store.group_sizes(place, end, wanted)
            found += some
            place = next_after(some[-1].group_id) if len(some) == wanted else end
    more = len(found) > page_size
    next_token = page_token("groups", found[page_size - 1].group_id) if more else None
    return await listed(core, found[:page_size]), next_token


async def listed(core: Core, sizes: list[GroupSize]) -> list[ListedGroup]:
    """Groups of these sizes as listings show them. Raises StoreUnavailable."""
    wanted = [each.group_id for each in sizes]
    if not wanted:
        return []
    heads = await core.store.heads(wanted)
    anew = {each.group_id: each for each in await core.store.reembeddings(wanted)}
    spaces = {group_id: head.space for group_id, head in heads.items()}
    return [ListedGroup(size, spaces.get(size.group_id, ""), anew.get(size.group_id)) for size in sizes]


def _after(token: str) -> str:
    match parts_of(token):
        case ["groups", str(group_id)]:
            return group_id
    raise wrong_token()
