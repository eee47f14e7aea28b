"""ListItems, RetryItems: the items that wait, failed or are parked (design §2)."""

from __future__ import annotations

from collections.abc import Sequence

from kgsvc.api import mapping
from kgsvc.api.calls import current_call
from kgsvc.api.checks import RequestCheck
from kgsvc.api.envelope import Operation, Reply, Rpcs, Unary
from kgsvc.commands.core import Core
from kgsvc.commands.items import retry_items
from kgsvc.domain.model.items import ItemState, ItemStatus
from kgsvc.v1 import ingestion_pb2, types_pb2


class ItemRpcs:
    """The RPCs on items."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.rpcs: Rpcs = {"ListItems": Unary(self._list_items), "RetryItems": Unary(self._retry_items)}

    def _list_items(self, sent: ingestion_pb2.ListItemsInput, check: RequestCheck) -> Operation:
        states: Sequence[int] = check.bounded("input.states", sent.states) if sent.states else ()
        wanted = frozenset(
            check.enum(f"input.states[{i}]", number, mapping.STATES, ItemState.PARKED)
            for i, number in enumerate(states)
        )
        size = check.page_size(sent)
        group_id = check.group_id("input.group_id", sent.group_id)
        token = check.page_token(sent)

        async def run() -> Reply:
            page = await self._core.store.list_items(group_id, wanted, size, token)
            items = map(_listed, page.rows)
            return Reply(ingestion_pb2.ListItemsOutput(items=items, next_page_token=page.next_token or ""))

        return run

    def _retry_items(self, sent: ingestion_pb2.RetryItemsInput, check: RequestCheck) -> Operation:
        group_id = check.group_id("input.group_id", sent.group_id)
        uuids: list[str] | None = None  # every parked item
        if not sent.all_parked:
            bounded = enumerate(check.bounded("input.uuids", sent.uuids))
            uuids = [check.identifier(f"input.uuids[{i}]", uuid, check.limits.uuid) for i, uuid in bounded]
            check.names(uuids, check.limits.uuid)
        elif sent.uuids:
            check.invalid("input.uuids", "must be empty when all_parked is set")

        async def run() -> Reply:
            retried = await retry_items(self._core, group_id, uuids)
            current_call.get().wrote(retried)
            return Reply(ingestion_pb2.RetryItemsOutput(retried=len(retried), uuids=retried))

        return run


def _listed(item: ItemStatus) -> types_pb2.ListedItem:
    return types_pb2.ListedItem(
        uuid=item.uuid,
        group_id=item.group_id,
        name=item.name,
        state=mapping.STATE_NUMBERS[item.state],
        attempts=item.attempts,
        reason=item.reason,
        step=None if item.step is None else item.step.value,
        updated_at=mapping.timestamp(item.updated_ms),
        receipt_id=item.receipt_id,
        warnings=mapping.warnings(item.warnings),
    )
