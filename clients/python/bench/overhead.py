"""CPU of this process for a call through the client, and for one through the raw stubs, in turn.

Started as `overhead.py HOST:PORT`.
"""

import sys
import time
from collections.abc import Callable
from statistics import median

import grpc
from kgsvc_client import Client
from kgsvc_client.v1 import retrieval_pb2 as pb
from kgsvc_client.v1.retrieval_pb2_grpc import RetrievalServiceStub

ROUNDS, CALLS = 15, 200


def cpu(call: Callable[[], object]) -> float:
    """Microseconds of CPU a call."""
    before = time.process_time()
    for _ in range(CALLS):
        call()
    return (time.process_time() - before) / CALLS * 1e6


def main(server: str) -> None:
    """Print both, and by how much they differ."""
    with Client(server) as client, grpc.insecure_channel(server) as channel:
        memory = client.group("overhead")
        memory.add([f"Person {number} works at Lumen Labs." for number in range(20)], wait=True)
        stub = RetrievalServiceStub(channel)
        sent = pb.SearchGraphInput(group_ids=["overhead"], query="Who works at Lumen Labs?")

        def raw() -> list[str]:
            asked = pb.SearchGraphRequest(input=sent)
            return [hit.fact.fact for hit in stub.SearchGraph(asked, timeout=30).output.facts]

        def thin() -> list[str]:
            return [fact.text for fact in memory.search("Who works at Lumen Labs?").facts]

        assert raw() == thin()
        pairs = [(cpu(raw), cpu(thin)) for _ in range(ROUNDS)]
    raws, thins = (median(each) for each in zip(*pairs, strict=True))
    more = median(thin / raw for raw, thin in pairs) - 1
    print(f"raw stubs {raws:.0f} us, client {thins:.0f} us a call: {more:+.1%}")


if __name__ == "__main__":
    main(sys.argv[1])
