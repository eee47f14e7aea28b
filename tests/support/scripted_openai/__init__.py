"""An OpenAI-compatible server for tests and benchmarks that says what it is told to say.

In a test, on the test's own event loop::

    async with ScriptedOpenAI(table={"Alice": answer(nodes=[...], edges=[...])}) as model:
        model.fail(rate_limited(retry_after="2"), match="Alice")
        ...  # point a client at model.base_url
        assert len(model.chats) == 2

For servers under test that run as processes of their own: ``python -m tests.support.scripted_openai`` (see
__main__.py), steered over /control.
"""

from tests.support.scripted_openai.replies import answer, edge, node, resolutions, verdict, verdicts
from tests.support.scripted_openai.script import (
    Outcome,
    Request,
    cut_off,
    dropped,
    hanging,
    rate_limited,
    refused,
    reply_body,
    says,
    stalling,
    status,
    truncated,
)
from tests.support.scripted_openai.server import ScriptedOpenAI

__all__ = [
    "Outcome",
    "Request",
    "ScriptedOpenAI",
    "answer",
    "cut_off",
    "dropped",
    "edge",
    "hanging",
    "node",
    "rate_limited",
    "refused",
    "reply_body",
    "resolutions",
    "says",
    "stalling",
    "status",
    "truncated",
    "verdict",
    "verdicts",
]
