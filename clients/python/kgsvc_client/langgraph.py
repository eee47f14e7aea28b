"""A store for LangGraph that keeps its items in a group: agents remember over runs and processes.

    store = KgsvcStore(Client().group("agents"))
    agent = builder.compile(store=store)

An item is a document of the group. Its value comes back as it was put; the texts in it are read into the
graph, so that searches find the item by words and meaning, and Group.search the facts that it states.
"""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import quote, unquote

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from kgsvc_client.blocking import Group
from kgsvc_client.connection import Call
from kgsvc_client.errors import NotFound
from kgsvc_client.v1.documents_pb2 import DocumentItem
from kgsvc_client.v1.retrieval_pb2 import SEARCH_SCOPE_CHUNKS
from kgsvc_client.values import AddedDocument, utc

_MARK, _VALUE = "langgraph", "value"  # the first part of our ids; where a document keeps the value
_PAGE = 1_000
_PASSAGES = 100  # that a search looks at
_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


class KgsvcStore(BaseStore):
    """Items of one group, which must be the store's own. A value is an object of JSON, at most 60 KiB.

    A search with a query looks at the 100 passages of the group that fit it best; one without lists what is
    there, by namespace and key. Items have no time to live, and none is kept out of searches (`index`):
    asking for either raises NotImplementedError. Everything raises KgsvcError.

    With `wait`, `put` returns once searches find the item, which takes as long as a model needs to read it;
    without, once it is stored.
    """

    def __init__(self, group: Group, *, wait: bool = True) -> None:
        self._group = group
        self._wait = wait

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations, one after the other."""
        return [self._done(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _done(self, op: Op) -> Result:
        match op:
            case GetOp():
                return self._get(_id(op.namespace, op.key))
            case SearchOp():
                found = self._listed(op) if op.query is None else self._found(op)
                fitting = (item for item in found if _fits(item.value, op.filter or {}))
                return [item for _, item in zip(range(op.offset + op.limit), fitting, strict=False)][
                    op.offset :
                ]
            case PutOp():
                self._put(op)
                return None
            case ListNamespacesOp():
                return self._namespaces(op)
        raise TypeError(f"{type(op).__name__} is no operation of a store")

    def _call(self, method: str, **wanted: Any) -> Any:
        return self._group.client.call(Call(method, {"group_id": self._group.id, **wanted}))

    def _get(self, document_id: str) -> Item | None:
        try:
            return _item(self._call("GetDocument", document_id=document_id).document, None)
        except NotFound:
            return None

    def _put(self, op: PutOp) -> None:
        if op.ttl is not None or op.index is not None:
            raise NotImplementedError(
                "items have no ttl, and all are searched as a whole: leave out ttl and index"
            )
        document_id = _id(op.namespace, op.key)
        if op.value is None:
            self._call("DeleteDocument", document_id=document_id)
            return
        added = self._add(document_id, op.value)
        # The same words in another value, or a clock behind the one of the last writer, change nothing.
        if added.arrival in {"unchanged", "outdated"}:
            there = self._get(document_id)
            if there is None or there.value != op.value:
                self._call("DeleteDocument", document_id=document_id)
                added = self._add(document_id, op.value)
        if self._wait:
            self._group.wait(added)

    def _add(self, document_id: str, value: Mapping[str, Any]) -> AddedDocument:
        item = DocumentItem(document_id=document_id, text=_text(value))
        item.reference_time.GetCurrentTime()
        item.metadata.update({_VALUE: json.dumps(value, ensure_ascii=False)})
        return AddedDocument(self._call("AddDocuments", documents=[item]).documents[0])

    def _documents(self) -> Iterator[Any]:
        """Every document of the group, by id."""
        token: str | None = None
        while token != "":
            page = self._call("ListDocuments", page_size=_PAGE, page_token=token)
            yield from page.documents
            token = page.next_page_token

    def _listed(self, op: SearchOp) -> Iterator[SearchItem]:
        for document in self._documents():
            if (
                _is_in(document.document_id, op.namespace_prefix)
                and (item := _item(document, None)) is not None
            ):
                yield item

    def _found(self, op: SearchOp) -> Iterator[SearchItem]:
        wanted = {
            "group_ids": [self._group.id],
            "query": op.query,
            "search_type": SEARCH_SCOPE_CHUNKS,
            "max_results": _PASSAGES,
        }
        scores: dict[str, float] = {}  # of each document its best passage
        search: Call[Any] = Call("SearchGraph", wanted)
        for hit in self._group.client.call(search).chunks:
            scores.setdefault(hit.chunk.full_doc_id, hit.score)
        for document_id, score in scores.items():
            if _is_in(document_id, op.namespace_prefix):
                try:
                    item = _item(self._call("GetDocument", document_id=document_id).document, score)
                except NotFound:  # deleted meanwhile
                    continue
                if item is not None:
                    yield item

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        held = {place[0] for each in self._documents() if (place := _place(each.document_id)) is not None}
        fitting = {
            namespace[: op.max_depth]
            for namespace in held
            if all(_matches(condition, namespace) for condition in op.match_conditions or ())
        }
        return sorted(fitting)[op.offset : op.offset + op.limit]


def _id(namespace: tuple[str, ...], key: str) -> str:
    return "/".join(quote(part, safe="") for part in (_MARK, *namespace, key))


def _place(document_id: str) -> tuple[tuple[str, ...], str] | None:
    """The namespace and the key of a document; None: it is not ours."""
    mark, *path = map(unquote, document_id.split("/"))
    return (tuple(path[:-1]), path[-1]) if mark == _MARK and path else None


def _is_in(document_id: str, prefix: tuple[str, ...]) -> bool:
    place = _place(document_id)
    return place is not None and place[0][: len(prefix)] == tuple(prefix)


def _item(document: Any, score: float | None) -> SearchItem | None:
    """What a document holds; None: it is not ours."""
    place = _place(document.document_id)
    if place is None or _VALUE not in document.metadata:
        return None
    return SearchItem(
        namespace=place[0],
        key=place[1],
        value=json.loads(document.metadata[_VALUE]),
        created_at=utc(document.created_at),
        updated_at=utc(document.updated_at),
        score=score,
    )


def _text(value: Mapping[str, Any]) -> str:
    """What is read of a value: a text alone, else a paragraph for each field."""
    if len(value) == 1 and isinstance(only := next(iter(value.values())), str) and only.strip():
        return only
    fields = (
        f"{name}: {each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)}"
        for name, each in value.items()
    )
    return "\n\n".join(fields) or "{}"


def _fits(value: Any, wanted: Any) -> bool:
    """Whether a value is what a filter wants: the same; objects where the filter says something."""
    if not isinstance(wanted, Mapping):
        return bool(value == wanted)
    if any(name.startswith("$") for name in wanted):
        return all(_compares(value, name, other) for name, other in wanted.items())
    return isinstance(value, Mapping) and all(_fits(value.get(name), each) for name, each in wanted.items())


def _compares(value: Any, name: str, other: Any) -> bool:
    if name not in _OPERATORS:
        raise NotImplementedError(f"{name} is no operator; there are {', '.join(_OPERATORS)}")
    try:
        return _OPERATORS[name](value, other)
    except TypeError:  # nothing is larger than what is not there
        return False


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = condition.path
    if condition.match_type not in {"prefix", "suffix"}:
        raise NotImplementedError(f"{condition.match_type} is no way to match: prefix and suffix are")
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return len(part) == len(path) and all(
        wanted in ("*", label) for wanted, label in zip(path, part, strict=True)
    )
