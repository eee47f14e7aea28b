"""The scripted server as a process: ``python -m tests.support.scripted_openai [--port 0] [--script FILE]``.

Prints the port it listens on, then serves until SIGTERM or SIGINT. FILE and the body of ``POST /control``
are JSON objects of the same form, every member optional::

    {"table": {"Alice": {"nodes": [...], "edges": [...]}},
     "faults": [{"kind": "status", "code": 429, "headers": {"retry-after": "0"}, "match": "Al", "times": 2}],
     "latency_s": 0.05, "heal": true, "forget_requests": true}

``GET /control/requests`` returns the log. The kinds of faults are those of script.Outcome.
"""

import argparse
import asyncio
import json
import signal
import sys
from pathlib import Path

from tests.support.scripted_openai.server import ScriptedOpenAI


async def serve(port: int, script: Path | None, dimension: int) -> None:
    """Serve until a signal asks for the end."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with ScriptedOpenAI(port=port, dimension=dimension) as model:
        if script:
            model.steer(json.loads(script.read_text(encoding="utf-8")))  # noqa: ASYNC240  nobody waits yet
        sys.stdout.write(f"{model.port}\n")
        sys.stdout.flush()
        await stop.wait()


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.scripted_openai")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--script", type=Path, help="JSON file with table, faults and latency_s")
    parser.add_argument("--dimension", type=int, default=64, help="length of the embedding vectors")
    options = parser.parse_args()
    asyncio.run(serve(options.port, options.script, options.dimension))


if __name__ == "__main__":
    main()
