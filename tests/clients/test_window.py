"""What a stream of the Python client keeps: in order, bounded, sent again where a stream broke."""

from datetime import UTC, datetime

import pytest
from kgsvc_client import Note, ServiceFault
from kgsvc_client.items import Converter
from kgsvc_client.v1 import envelope_pb2, types_pb2
from kgsvc_client.v1.ingestion_pb2 import StreamEpisodesRequest, StreamEpisodesResponse
from kgsvc_client.window import Window

from tests.support.client import timestamp

BODY = "Ann met Bea."


def item(body: str = BODY) -> StreamEpisodesRequest:
    episode = types_pb2.EpisodeItem(source=types_pb2.SOURCE_TEXT, body=body, reference_time=timestamp(0))
    return StreamEpisodesRequest(group_id="g", episode=episode)


def stored(number: int, duplicate: bool = False) -> StreamEpisodesResponse:
    accepted = envelope_pb2.STATUS_ACCEPTED
    return StreamEpisodesResponse(client_ref=str(number), status=accepted, uuid="u", duplicate=duplicate)


def filled(count: int) -> Window:
    window = Window()
    for _ in range(count):
        window.put(item())
    window.close()
    return window


def sent(window: Window) -> list[int]:
    """Everything that it sends now."""
    numbers = []
    while window.sends:
        numbers.append(int(window.next().client_ref))
    return numbers


def test_it_is_bounded_in_items_and_in_bytes() -> None:
    by_count, by_size = Window(items=2), Window(size=100)
    for number in range(2):
        assert by_count.has_room
        by_count.put(item())
        assert by_count.has_room == (number == 0)
    by_size.put(item("x" * 200))
    assert not by_size.has_room
    assert by_size.sends
    by_size.next()
    by_size.answer(stored(0))
    assert by_size.has_room


def test_the_first_goes_alone_and_the_others_behind_its_answer() -> None:
    window = filled(3)
    assert sent(window) == [0]
    assert not window.ends
    window.answer(stored(0))
    assert sent(window) == [1, 2]
    assert window.ends
    assert not window.done


def test_what_was_not_answered_is_sent_again_and_is_no_duplicate_of_itself() -> None:
    window = filled(4)
    sent(window)
    window.answer(stored(0))
    assert sent(window) == [1, 2, 3]
    window.answer(stored(1, duplicate=True))
    window.reopened()
    assert sent(window) == [2]
    window.answer(stored(2, duplicate=True))
    assert sent(window) == [3]
    window.answer(stored(3, duplicate=True))
    assert window.done
    assert (window.report.stored, window.report.duplicates) == (3, 1)


def test_an_answer_to_another_item_is_a_fault_of_the_service() -> None:
    window = filled(2)
    sent(window)
    with pytest.raises(ServiceFault):
        window.answer(stored(1))


def test_items_without_a_time_keep_their_order_and_json_is_sent_as_such() -> None:
    converter = Converter(datetime(2025, 1, 1, tzinfo=UTC))
    first, second = converter.sent("One."), converter.sent(Note({"two": 2}))
    assert isinstance(first, types_pb2.EpisodeItem)
    assert isinstance(second, types_pb2.EpisodeItem)
    assert second.reference_time.ToMilliseconds() - first.reference_time.ToMilliseconds() == 1
    assert (second.source, second.body) == (types_pb2.SOURCE_JSON, '{"two": 2}')
    assert converter.sent({"role": "tool", "content": "42"}) is None
    assert converter.sent({"role": "assistant", "content": None, "tool_calls": []}) is None
    with pytest.raises(ValueError, match="no time zone"):
        converter.sent(Note("Three.", time=datetime(2025, 1, 1)))
