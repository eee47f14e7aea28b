"""What a stream has sent or will send and has no answer for yet: bounded, and sent again if a stream breaks.

It waits for nothing and talks to nobody; kgsvc_client.blocking and kgsvc_client.aio do.
"""

from collections import deque
from typing import Any

from kgsvc_client.errors import ServiceFault
from kgsvc_client.items import Sent
from kgsvc_client.v1 import ingestion_pb2
from kgsvc_client.values import Report

Request = ingestion_pb2.StreamEpisodesRequest


class Window:
    """Items in the order given, until each is answered. Their `client_ref` is their number.

    The first item on each stream goes alone: the answer to it is also when a refusal of the whole stream is
    told, which grpc.aio loses while it sends (grpc/grpc#36066).
    """

    def __init__(self, group_id: str, items: int = 1_024, size: int = 8 * 1024 * 1024) -> None:
        self.report = Report()
        self._group_id = group_id
        self._most_items, self._most_bytes = items, size
        self._sent: deque[Request] = deque()  # on the stream that is open
        self._unsent: deque[Request] = deque()
        self._bytes = 0
        self._given = 0
        self._doubtful = 0  # of the first: sent on a stream that broke, hence perhaps stored
        self._streams = 0
        self._answered_here = False
        self.closed = False  # whether no more items come

    def _waiting(self) -> int:
        return len(self._sent) + len(self._unsent)

    @property
    def answered(self) -> int:
        """How many items are dealt with."""
        return self._given - self._waiting()

    @property
    def has_room(self) -> bool:
        """Whether one more may be put."""
        return self._waiting() < self._most_items and self._bytes < self._most_bytes

    @property
    def is_half_empty(self) -> bool:
        """Whether there is room for many, so that it pays to wake who puts them."""
        return self._waiting() <= self._most_items // 2 and self._bytes <= self._most_bytes // 2

    @property
    def sends(self) -> bool:
        """Whether `next` has an item for the open stream."""
        return bool(self._unsent) and (self._answered_here or not self._sent)

    @property
    def done(self) -> bool:
        """Whether everything is answered and nothing more comes."""
        return self.closed and not self._waiting()

    def put(self, item: Sent) -> None:
        """One more item."""
        kind, fields = item
        values: dict[str, Any] = {"group_id": self._group_id, "client_ref": str(self._given), kind: fields}
        request = Request(**values)
        self._given += 1
        self._unsent.append(request)
        self._bytes += request.ByteSize()

    def moves(self, stream: int) -> bool:
        """Whether a stream has something to send, or will never have."""
        return self.sends or stream != self._streams or (self.closed and not self._unsent)

    def next(self, stream: int) -> list[Request]:
        """What a stream is to send now that it `moves`; nothing: that was all."""
        if stream != self._streams or not self.sends:
            return []
        batch = [self._unsent.popleft() for _ in range(len(self._unsent) if self._answered_here else 1)]
        self._sent += batch
        return batch

    def answer(self, answer: ingestion_pb2.StreamEpisodesResponse) -> None:
        """The service has dealt with the first that waits. Raises ServiceFault where it means another one."""
        if not self._sent or answer.client_ref != self._sent[0].client_ref:
            raise ServiceFault("INTERNAL", f"the service answered item {answer.client_ref} out of turn")
        request = self._sent.popleft()
        self._bytes -= request.ByteSize()
        self.report.count(int(request.client_ref), answer, sent_before=self._doubtful > 0)
        self._answered_here = True
        self._doubtful = max(0, self._doubtful - 1)

    def reopened(self) -> int:
        """A new stream begins, which gets a number: everything that is not answered is sent again."""
        self._doubtful = max(self._doubtful, len(self._sent))
        self._unsent.extendleft(reversed(self._sent))
        self._sent.clear()
        self._answered_here = False
        self._streams += 1
        return self._streams
