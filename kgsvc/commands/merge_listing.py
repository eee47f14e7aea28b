"""ListMerges: which entities became one, or two, and which of these changes can still be undone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgsvc.commands.core import Core, page_token, parts_of, wrong_token
from kgsvc.commands.merges import TOO_LATE, merge_stays
from kgsvc.commands.splits import SPLIT_STAYS
from kgsvc.domain.model.delta import MergeRecord, NameView
from kgsvc.domain.model.keys import digest
from kgsvc.domain.names.forgetting import is_collected
from kgsvc.domain.names.merging import entity_in
from kgsvc.domain.names.splitting import is_split
from kgsvc.stores.protocol import LATEST, MergesWhere


@dataclass(frozen=True, slots=True)
class ListedMerge:
    """A merge or a split as it stands now. A name that nobody knows any more is empty."""

    record: MergeRecord
    kept_name: str
    merged_name: str
    obstacle: str | None  # why it cannot be undone; None: it can

    @property
    def is_split(self) -> bool:
        """Whether an entity was taken out, and not merged."""
        return is_split(self.record)


async def list_merges(
    core: Core, group_id: str, entity_uuid: str | None, page_size: int, token: str | None
) -> tuple[list[ListedMerge], str | None]:
    """Merges and splits, the latest first, and the token of the next page (None: these were the last). A page
    has fewer than `page_size` where much is kept to undo them. Raises InvalidArgument (not a token of this
    listing), StoreUnavailable."""
    listing = digest(group_id, entity_uuid)[:12]
    behind = LATEST if token is None else _behind(token, listing)
    room = core.limits.response_bytes
    where = MergesWhere(entity_uuid=entity_uuid, limit=page_size + 1, max_bytes=room, behind=behind)
    records = await core.store.merges(group_id, where)
    more = len(records) > page_size or sum(len(each.data.encode()) for each in records) > room
    shown = records[:page_size]
    token = page_token(listing, shown[-1].created_ms, shown[-1].merge_id) if more else None
    return await _listed(core, group_id, shown), token


async def _listed(core: Core, group_id: str, records: Sequence[MergeRecord]) -> list[ListedMerge]:
    known: list[dict[str, Any]] = [json.loads(record.data) for record in records]
    names = {name for data in known for name in data.get("names", ())}
    uuids = {uuid for record in records for uuid in (record.kept_uuid, record.merged_uuid)}
    view = await core.store.names(group_id, names, uuids)
    return [_one(view, record, data) for record, data in zip(records, known, strict=True)]


def _one(view: NameView, record: MergeRecord, data: Mapping[str, Any]) -> ListedMerge:
    kept, merged = view.by_uuid.get(record.kept_uuid), view.by_uuid.get(record.merged_uuid)
    called = merged.name if merged else ""
    if not is_split(record) and "entity" in data:
        called = entity_in(data).name
    return ListedMerge(record, kept.name if kept else "", called, _obstacle(view, record, data))


def _obstacle(view: NameView, record: MergeRecord, data: Mapping[str, Any]) -> str | None:
    if is_collected(data):
        return TOO_LATE
    if not is_split(record):
        return merge_stays(view, record, data)
    both = {record.kept_uuid, record.merged_uuid} <= view.by_uuid.keys()
    return None if both else SPLIT_STAYS


def _behind(token: str, listing: str) -> tuple[int, str]:
    match parts_of(token):
        case [str(named), int(created_ms), str(merge_id)] if named == listing and 0 <= created_ms < 2**63:
            return created_ms, merge_id
    raise wrong_token()
