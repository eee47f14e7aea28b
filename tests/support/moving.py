"""Groups exported and imported by calls, in short words."""

from collections.abc import AsyncIterator, Iterable
from typing import Any

import grpc

from kgsvc.v1 import envelope_pb2
from kgsvc.v1.transfer_pb2 import ExportGroupOutput, ImportGroupRequest, ImportGroupResponse
from tests.support.client import DONE_S, Client, granted
from tests.support.contract import request_of


async def pieces(client: Client, group: str, **given: Any) -> list[ExportGroupOutput]:
    """What ExportGroup sends."""
    call = client.admin.ExportGroup(request_of("ExportGroup", group_id=group, **given), timeout=DONE_S)
    return [granted(each).output async for each in call]


async def exported(client: Client, group: str, **given: Any) -> bytes:
    """A group as a file."""
    found = await pieces(client, group, **given)
    assert [each.last for each in found] == [False] * (len(found) - 1) + [True]
    return joined(found)


def joined(found: Iterable[ExportGroupOutput]) -> bytes:
    """What the pieces hold."""
    return b"".join(each.data for each in found)


async def imported(
    client: Client, group: str, file: bytes, piece: int = 2**20, **first: Any
) -> list[ImportGroupResponse]:
    """What ImportGroup answers to a file in pieces; `first` is more of the first message."""

    async def parts() -> AsyncIterator[ImportGroupRequest]:
        yield ImportGroupRequest(group_id=group, **first)
        for at in range(0, len(file), piece):
            yield ImportGroupRequest(data=file[at : at + piece])
        yield ImportGroupRequest(last=True)

    return [each async for each in client.admin.ImportGroup(parts(), timeout=DONE_S)]


async def rest(call: Any) -> list[Any]:
    """What a stream that was read from brings up to its end."""
    found = []
    while (answer := await call.read()) is not grpc.aio.EOF:
        found.append(answer)
    return found


async def far(client: Client, group: str, upload_id: str) -> int:
    """How much of a file the service has."""
    first = iter([ImportGroupRequest(group_id=group, upload_id=upload_id)])
    answers = [granted(each) async for each in client.admin.ImportGroup(first, timeout=DONE_S)]
    assert {each.status for each in answers} == {envelope_pb2.STATUS_ACCEPTED}
    return answers[0].received_bytes
