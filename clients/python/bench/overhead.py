"""What the client costs beside the raw stubs, in turn: CPU of this process for a search, then for an item of
a stream, with how many items a second are acknowledged.

Started as `overhead.py HOST:PORT`; the service should be idle, and without limits.
"""

import itertools
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

import grpc
from google.protobuf.timestamp_pb2 import Timestamp
from kgsvc_client import Client, Group
from kgsvc_client.v1 import ingestion_pb2, types_pb2
from kgsvc_client.v1 import retrieval_pb2 as pb
from kgsvc_client.v1.ingestion_pb2_grpc import IngestionServiceStub
from kgsvc_client.v1.retrieval_pb2_grpc import RetrievalServiceStub
from kgsvc_client.values import Report

SEARCHES, ROUNDS = 200, 15
ITEMS, STREAMS = 1_000, 7
AT_S = 1_760_000_000
NUMBERS = itertools.count()  # of texts, which are all different


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one call or item."""

    cpu_us: float
    a_second: float


def cost(work: Callable[[], Report], count: int, settle: Callable[[Report], object]) -> Cost:
    """Of work that makes so many calls or items; what they leave to do is waited for, and not counted."""
    began, before = time.perf_counter(), time.process_time()
    report = work()
    found = Cost((time.process_time() - before) / count * 1e6, count / (time.perf_counter() - began))
    settle(report)
    return found


def compare(
    what: str, raw: Callable[[], Report], thin: Callable[[], Report], count: int, rounds: int, memory: Group
) -> None:
    """Print both sides, and by how much they differ within a round."""
    pairs = [(cost(raw, count, memory.wait), cost(thin, count, memory.wait)) for _ in range(rounds)]
    raws, thins = zip(*pairs, strict=True)
    more = median(thin.cpu_us / raw.cpu_us for raw, thin in pairs) - 1
    faster = median(thin.a_second / raw.a_second for raw, thin in pairs)
    for side, costs in (("raw stubs", raws), ("client", thins)):
        cpu, speed = median(each.cpu_us for each in costs), median(each.a_second for each in costs)
        print(f"{what}, {side}: {cpu:.0f} us of CPU, {speed:,.0f} a second")
    print(f"{what}, the client beside the stubs: {more:+.1%} CPU, {faster:.2f} times as fast", flush=True)


def searches(memory: Group, channel: grpc.Channel) -> None:
    """The same search again and again."""
    memory.add([f"Person {number} works at Lumen Labs." for number in range(20)], wait=True)
    stub = RetrievalServiceStub(channel)
    query = "Who works at Lumen Labs?"

    def raw() -> list[str]:
        sent = pb.SearchGraphInput(group_ids=[memory.id], query=query)
        answer = stub.SearchGraph(pb.SearchGraphRequest(input=sent), timeout=30)
        return [hit.fact.fact for hit in answer.output.facts]

    def thin() -> list[str]:
        return [fact.text for fact in memory.search(query).facts]

    assert raw() == thin()
    compare("search", lambda: _repeated(raw), lambda: _repeated(thin), SEARCHES, ROUNDS, memory)


def _repeated(call: Callable[[], object]) -> Report:
    for _ in range(SEARCHES):
        call()
    return Report()


def streams(memory: Group, channel: grpc.Channel) -> None:
    """New texts on one stream after the other."""
    stub = IngestionServiceStub(channel)

    def requests() -> Iterator[ingestion_pb2.StreamEpisodesRequest]:
        for number in itertools.islice(NUMBERS, ITEMS):
            episode = types_pb2.EpisodeItem(source=types_pb2.SOURCE_TEXT, body=f"Note {number}.")
            episode.reference_time.CopyFrom(Timestamp(seconds=AT_S))
            yield ingestion_pb2.StreamEpisodesRequest(
                group_id=memory.id, episode=episode, client_ref=str(number)
            )

    def raw() -> Report:
        answers = list(stub.StreamEpisodes(requests()))
        assert len([answer for answer in answers if not answer.HasField("error")]) == ITEMS
        return Report(receipts=list(dict.fromkeys(answer.receipt_id for answer in answers)))

    def thin() -> Report:
        report = memory.stream(f"Note {number}." for number in itertools.islice(NUMBERS, ITEMS))
        assert report.stored == ITEMS
        return report

    compare("stream", raw, thin, ITEMS, STREAMS, memory)


def main(server: str) -> None:
    """Measure both."""
    with Client(server) as client, grpc.insecure_channel(server) as channel:
        searches(client.group("overhead"), channel)
        streams(client.group(f"streams-{time.time_ns()}"), channel)


if __name__ == "__main__":
    main(sys.argv[1])
