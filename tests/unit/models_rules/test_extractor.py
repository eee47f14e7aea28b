"""The extractor as ingestion sees it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from kgsvc.domain.limits import Limits
from kgsvc.domain.model.extraction import ExtractionRequest
from kgsvc.domain.model.graph import Usage
from kgsvc.models.protocol import Extracted, Extractor
from kgsvc.models.rules import extractor as module
from kgsvc.models.rules.extractor import OfflineExtractor
from tests.unit.models_rules.support import message


def test_it_is_an_extractor_that_costs_nothing() -> None:
    extractor: Extractor = OfflineExtractor()
    assert (extractor.name, extractor.costs_model_calls) == ("offline", False)


async def test_a_batch_gives_one_result_for_each_request_in_order() -> None:
    extractor = OfflineExtractor()
    texts = ["I live in Rome.", "Hi!", "I live in Oslo."]
    results = await extractor.extract([ExtractionRequest(message(text)) for text in texts])
    await extractor.close()
    assert all(isinstance(result, Extracted) and result.usage == Usage() for result in results)
    targets = [{n.name for n in r.extraction.nodes} for r in results if isinstance(r, Extracted)]
    assert targets == [{"Bob", "Rome"}, {"Bob"}, {"Bob", "Oslo"}]


async def test_the_work_is_done_in_one_thread_beside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    real = module.extract_one

    def noting(request: ExtractionRequest, limits: Limits) -> object:
        threads.append(threading.get_ident())
        return real(request, limits)

    monkeypatch.setattr(module, "extract_one", noting)
    await OfflineExtractor().extract([ExtractionRequest(message("I live in Rome.")) for _ in range(5)])
    assert len(threads) == 5
    assert len(set(threads)) == 1
    assert threading.get_ident() not in threads


async def test_batches_that_come_together_share_a_thread_and_fail_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Batches of several groups: what is wrong with one is told to its caller alone."""
    threads: list[int] = []
    real = module.extract_one

    def failing(request: ExtractionRequest, limits: Limits) -> object:
        threads.append(threading.get_ident())
        if "poison" in request.episode.body:
            raise ZeroDivisionError
        return real(request, limits)

    monkeypatch.setattr(module, "extract_one", failing)
    extractor = OfflineExtractor()
    texts = ["I live in Rome.", "poison", "I live in Oslo."]
    first, poisoned, last = await asyncio.gather(
        *(extractor.extract([ExtractionRequest(message(text))]) for text in texts), return_exceptions=True
    )
    assert isinstance(first, list)
    assert isinstance(first[0], Extracted)
    assert isinstance(poisoned, ZeroDivisionError)
    assert isinstance(last, list)
    assert isinstance(last[0], Extracted)
    assert len(threads) == 3
    assert len(set(threads)) == 1


async def test_the_loop_goes_on_while_a_large_text_is_read() -> None:
    task = asyncio.create_task(
        OfflineExtractor().extract([ExtractionRequest(message("Tom likes tea and cake. " * 20_000))])
    )
    turns = 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 10
    assert isinstance((await task)[0], Extracted)


async def test_an_empty_batch_is_an_empty_answer() -> None:
    assert await OfflineExtractor().extract([]) == []
