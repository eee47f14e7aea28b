"""Well-formed contents and bodies: extractions, chat completions, embeddings, errors."""

import base64
import hashlib
import json
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

_NODE: dict[str, Any] = {"type": "Entity", "summary": "", "attributes": []}
_EDGE: dict[str, Any] = {
    "valid_at": None,
    "invalid_at": None,
    "kind": "state",
    "polarity": "asserts",
    "qualifiers": [],
    "keywords": [],
    "weight": 1,
}


def node(ref: str, name: str, **more: Any) -> dict[str, Any]:
    """A node of an extraction; what is not given has its neutral value."""
    return {"ref": ref, "name": name, **_NODE, **more}


def edge(name: str, fact: str, source_ref: str, target_ref: str, **more: Any) -> dict[str, Any]:
    """An edge of an extraction; what is not given has its neutral value."""
    ends = {"source_ref": source_ref, "target_ref": target_ref}
    return {"name": name, "fact": fact, **ends, **_EDGE, **more}


def answer(
    nodes: Iterable[Mapping[str, Any]] = (), edges: Iterable[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """An extraction in the strict form; members may leave out what has a neutral value."""
    return {"nodes": [{**_NODE, **each} for each in nodes], "edges": [{**_EDGE, **each} for each in edges]}


def resolutions(
    nodes: Mapping[int, Mapping[str, Any]] | None = None, facts: Mapping[int, Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """The answer to a resolution, by id; members may leave out what means "something new"."""
    new_node: dict[str, Any] = {
        "same_as_known": None,
        "same_as_new": None,
        "also_known": [],
        "also_new": [],
        "full_name": None,
    }
    new_fact: dict[str, Any] = {"verdicts": []}
    return {
        "nodes": [{"id": id, **new_node, **given} for id, given in (nodes or {}).items()],
        "facts": [{"id": id, **new_fact, **given} for id, given in (facts or {}).items()],
    }


def verdict(idx: int, said: str, since: str | None = None) -> dict[str, Any]:
    """What a new fact means for one that is known."""
    return {"idx": idx, "verdict": said, "since": since}


def verdicts(since: str | None = None, **known: Iterable[int]) -> dict[str, Any]:
    """What it means for several, by verdict: verdicts(repeats=[5], replaced=[6])."""
    return {"verdicts": [verdict(idx, said, since) for said, several in known.items() for idx in several]}


def all_new(questions: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a resolution in which nothing is known yet."""
    return resolutions(
        {node["id"]: {} for node in questions.get("new_entities", [])},
        {
            fact["id"]: {"fact_type": None} if "fact_types" in fact else {}
            for fact in questions.get("new_facts", [])
        },
    )


def ratings(scores: Sequence[int]) -> dict[str, Any]:
    """The answer to what asks for the relevance of passages: a score for each, in their order."""
    return {"scores": [{"id": id, "score": score} for id, score in enumerate(scores)]}


def completion(
    content: str | None, request: Mapping[str, Any], finish: str = "stop", refusal: str | None = None
) -> dict[str, Any]:
    """A chat completion; tokens are counted as a quarter of the characters."""
    asked = sum(len(message.get("content") or "") for message in request.get("messages", [])) // 4
    said = len(content or refusal or "") // 4
    return {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 0,
        "model": request.get("model", ""),
        "choices": [
            {
                "index": 0,
                "finish_reason": finish,
                "message": {"role": "assistant", "content": content, "refusal": refusal},
            }
        ],
        "usage": {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said},
    }


def streamed(whole: Mapping[str, Any], pieces: int = 7) -> list[dict[str, Any]]:
    """A completion as the events of a stream: its text in about so many pieces, its end, its usage."""
    (choice,) = whole["choices"]
    message, text = choice["message"], choice["message"]["content"] or ""
    size = max(1, len(text) // pieces)
    deltas = [{"content": text[at : at + size]} for at in range(0, len(text), size)]
    if message["refusal"]:
        deltas.append({"refusal": message["refusal"]})
    head = {"id": whole["id"], "object": "chat.completion.chunk", "created": 0, "model": whole["model"]}
    said = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        for delta in ({"role": "assistant", "content": ""}, *deltas)
    ]
    end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    return [*said, {**head, "choices": [end]}, {**head, "choices": [], "usage": whole["usage"]}]


Embed = Callable[[str, int], list[float]]  # (text, dimension) -> its vector


def embeddings(request: Mapping[str, Any], dimension: int, embed: Embed | None = None) -> dict[str, Any]:
    """Vectors by `embed`, else hashed words: texts that share words have similar ones."""
    given = request["input"]
    texts = [given] if isinstance(given, str) else given
    size = request.get("dimensions", dimension)
    encode = _as_base64 if request.get("encoding_format") == "base64" else list
    data = [
        {"object": "embedding", "index": index, "embedding": encode((embed or vector)(text, size))}
        for index, text in enumerate(texts)
    ]
    tokens = sum(map(len, texts)) // 4
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": request.get("model", ""), "data": data, "usage": usage}


def vector(text: str, dimension: int) -> list[float]:
    """One number per hashed word, not normalised."""
    numbers = [0.0] * dimension
    for word in text.casefold().split():
        seed = hashlib.sha256(word.encode()).digest()
        numbers[int.from_bytes(seed[:4], "big") % dimension] += 1.0 if seed[4] % 2 else 2.0
    return numbers


def error(message: str, code: str | None = None) -> dict[str, Any]:
    """The body of an error reply."""
    return {"error": {"message": message, "type": "scripted", "param": None, "code": code}}


def as_content(extraction: Any) -> str:
    """An extraction as the text of a message."""
    return json.dumps(extraction, ensure_ascii=False)


def _as_base64(numbers: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()
