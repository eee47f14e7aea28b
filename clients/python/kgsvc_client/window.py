"""What a stream has sent or will send and has no answer for yet: bounded, and sent again if a stream breaks.

It waits for nothing and talks to nobody; kgsvc_client.blocking and kgsvc_client.aio do.
"""

from __future__ import annotations

from collections import deque

from kgsvc_client.errors import ServiceFault
from kgsvc_client.items import Sent
from kgsvc_client.v1 import ingestion_pb2, types_pb2
from kgsvc_client.values import Report

ITEMS = 1_024
BYTES = 8 * 1024 * 1024
Request = ingestion_pb2.StreamEpisodesRequest


class Window:
    """Items in the order given, until each is answered. Their `client_ref` is their number.

    The first item on each stream goes alone: the answer to it is also when a refusal of the whole stream is
    told, which grpc.aio loses while it sends (grpc/grpc#36066).
    """

    def __init__(self, items: int = ITEMS, size: int = BYTES) -> None:
        self.report = Report()
        self._most_items, self._most_bytes = items, size
        self._waiting: deque[Request] = deque()
        self._bytes = 0
        self._given = 0
        self._sent = 0  # of those that wait: on the stream that is open
        self._doubtful = 0  # of those that wait: sent on a stream that broke, hence perhaps stored
        self._answered_here = 0
        self._closed = False

    @property
    def answered(self) -> int:
        """How many items are dealt with."""
        return self._given - len(self._waiting)

    @property
    def has_room(self) -> bool:
        """Whether one more may be put."""
        return len(self._waiting) < self._most_items and self._bytes < self._most_bytes

    @property
    def sends(self) -> bool:
        """Whether `next` has an item for the open stream."""
        return self._sent < (len(self._waiting) if self._answered_here else min(1, len(self._waiting)))

    @property
    def ends(self) -> bool:
        """Whether nothing more will be sent on the open stream."""
        return self._closed and self._sent == len(self._waiting)

    @property
    def done(self) -> bool:
        """Whether everything is answered and nothing more comes."""
        return self._closed and not self._waiting

    def put(self, request: Request) -> None:
        """One more item."""
        request.client_ref = str(self._given)
        self._given += 1
        self._waiting.append(request)
        self._bytes += request.ByteSize()

    def close(self) -> None:
        """No more items come."""
        self._closed = True

    def next(self) -> Request:
        """The item to send now (`sends`)."""
        self._sent += 1
        return self._waiting[self._sent - 1]

    def answer(self, answer: ingestion_pb2.StreamEpisodesResponse) -> None:
        """The service has dealt with the first that waits. Raises ServiceFault where it means another one."""
        if not self._sent or answer.client_ref != self._waiting[0].client_ref:
            raise ServiceFault("INTERNAL", f"the service answered item {answer.client_ref} out of turn")
        request = self._waiting.popleft()
        self._bytes -= request.ByteSize()
        self.report.count(int(request.client_ref), answer, sent_before=self._doubtful > 0)
        self._sent -= 1
        self._answered_here += 1
        self._doubtful = max(0, self._doubtful - 1)

    def reopened(self) -> None:
        """A new stream begins: everything that is not answered is sent again."""
        self._doubtful = max(self._doubtful, self._sent)
        self._sent = self._answered_here = 0


def request(group_id: str, item: Sent) -> Request:
    """An item as a stream carries it."""
    if isinstance(item, types_pb2.Message):
        return Request(group_id=group_id, message=item)
    return Request(group_id=group_id, episode=item)
