"""The model of the benchmarks in a process of its own, so that its work is nobody's CPU but its own.

Serves chat that reads the planted corpus without a mistake, and embeddings (bench.vocabulary). How long a
call of chat takes is set over /control; embeddings come at once.
"""

from __future__ import annotations

import argparse
import asyncio
import signal

from bench.perfect_reader import PerfectReader
from bench.planted import Corpus, PlantedFact, Thing, corpus
from bench.vocabulary import DIMENSION, MODEL, embedded
from tests.support.model_process import ModelProcess
from tests.support.scripted_openai import ScriptedOpenAI


class AmongStrangers(PerfectReader):
    """Reads also where entities and facts of other origin are offered: they are none of the corpus."""

    def __init__(self, planted: Corpus) -> None:
        super().__init__(planted)
        nobody = Thing("nobody", ("",))
        self._strange = PlantedFact(-1, "", nobody, nobody, planted.lines[0].at)

    def _thing(self, name: str) -> Thing:
        return self._corpus.thing(name) or Thing("nobody", (name,))

    def _told(self, text: str) -> PlantedFact:
        return self._corpus.told(text) or self._strange


class Model(ModelProcess):
    """That process, as a context manager."""

    module = "bench.model_server"

    def __init__(self, episodes: int, seed: int) -> None:
        super().__init__("--episodes", str(episodes), "--seed", str(seed))

    @property
    def embedding(self) -> dict[str, str]:
        """Settings of a kgsvc server that embeds by it."""
        return {
            "models.embedder": "openai",
            "openai.base_url": self.base_url,
            "openai.api_key": "bench",
            "embedding.model": MODEL,
            "embedding.dimension": str(DIMENSION),
        }

    @property
    def settings(self) -> dict[str, str]:
        """Settings of one that extracts by it too."""
        return self.embedding | {"models.extractor": "openai"}

    async def takes(self, seconds: float) -> None:
        """Let every call of chat from here on take so long, and forget the calls before."""
        await self.steer(chat_latency_s=seconds, forget_requests=True)


def _vector(text: str, dimension: int) -> list[float]:
    assert dimension == DIMENSION, "the words have vectors of one length"
    return [float(value) for value in embedded([text])[0]]


async def serve(episodes: int, seed: int) -> None:
    """Print the port, serve until a signal asks for the end."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    reader = AmongStrangers(corpus(episodes, seed))
    async with ScriptedOpenAI(reader, dimension=DIMENSION, embed=_vector) as model:
        print(model.port, flush=True)
        await stop.wait()


def main() -> None:
    """The command line of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--episodes", type=int, required=True, help="length of the planted corpus")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    asyncio.run(serve(options.episodes, options.seed))


if __name__ == "__main__":
    main()
