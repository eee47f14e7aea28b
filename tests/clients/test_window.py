"""What a stream of the Python client keeps: in order, bounded, sent again where a stream broke."""

from datetime import UTC, datetime, timedelta

import pytest
from kgsvc_client import Note, ServiceFault
from kgsvc_client.items import Converter, Sent
from kgsvc_client.v1 import envelope_pb2
from kgsvc_client.v1.ingestion_pb2 import StreamEpisodesResponse
from kgsvc_client.window import Window

BODY = "Ann met Bea."


def item(body: str = BODY) -> Sent:
    sent = Converter(datetime(2025, 1, 1, tzinfo=UTC)).sent(body)
    assert sent is not None
    return sent


def stored(number: int, duplicate: bool = False) -> StreamEpisodesResponse:
    accepted = envelope_pb2.STATUS_ACCEPTED
    return StreamEpisodesResponse(client_ref=str(number), status=accepted, uuid="u", duplicate=duplicate)


def filled(count: int) -> tuple[Window, int]:
    """One with so many items, and its first stream."""
    window = Window("g")
    for _ in range(count):
        window.put(item())
    window.closed = True
    return window, window.reopened()


def sent(window: Window, stream: int) -> list[int]:
    """Everything that it sends now."""
    numbers: list[int] = []
    while window.sends:
        numbers += [int(request.client_ref) for request in window.next(stream)]
    return numbers


def test_it_is_bounded_in_items_and_in_bytes() -> None:
    by_count, by_size = Window("g", items=2), Window("g", size=100)
    for number in range(2):
        assert by_count.has_room
        by_count.put(item())
        assert by_count.has_room == (number == 0)
    by_size.put(item("x" * 200))
    assert not by_size.has_room
    assert by_size.sends
    by_size.next(by_size.reopened())
    by_size.answer(stored(0))
    assert by_size.has_room


def test_the_first_goes_alone_and_the_others_behind_its_answer() -> None:
    window, stream = filled(3)
    assert sent(window, stream) == [0]
    assert not window.moves(stream)
    window.answer(stored(0))
    assert sent(window, stream) == [1, 2]
    assert window.moves(stream)
    assert window.next(stream) == [], "the end"
    assert not window.done


def test_what_was_not_answered_is_sent_again_and_is_no_duplicate_of_itself() -> None:
    window, broken = filled(4)
    sent(window, broken)
    window.answer(stored(0))
    assert sent(window, broken) == [1, 2, 3]
    window.answer(stored(1, duplicate=True))
    stream = window.reopened()
    assert (window.moves(broken), window.next(broken)) == (True, []), "it sends nothing more"
    assert sent(window, stream) == [2]
    window.answer(stored(2, duplicate=True))
    assert sent(window, stream) == [3]
    window.answer(stored(3, duplicate=True))
    assert window.done
    assert (window.report.stored, window.report.duplicates) == (3, 1)


def test_an_answer_to_another_item_is_a_fault_of_the_service() -> None:
    window, stream = filled(2)
    sent(window, stream)
    with pytest.raises(ServiceFault):
        window.answer(stored(1))


def test_items_without_a_time_keep_their_order_and_json_is_sent_as_such() -> None:
    converter = Converter(datetime(2025, 1, 1, tzinfo=UTC))
    first, second = converter.sent("One."), converter.sent(Note({"two": 2}))
    assert first is not None
    assert second is not None
    assert second[1]["reference_time"] - first[1]["reference_time"] == timedelta(milliseconds=1)
    assert (second[0], second[1]["source"], second[1]["body"]) == ("episode", "SOURCE_JSON", '{"two": 2}')
    assert converter.sent({"role": "tool", "content": "42"}) is None
    assert converter.sent({"role": "assistant", "content": None, "tool_calls": []}) is None
    with pytest.raises(ValueError, match="no time zone"):
        converter.sent(Note("Three.", time=datetime(2025, 1, 1)))
