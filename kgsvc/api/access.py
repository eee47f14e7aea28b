"""Around every call: who calls is proven before the request is parsed, and what it may do is looked up.

The groups that a request names are checked where it is opened (`envelope`), those of things named by a bare
uuid where they are found (`commands.core.the_one`). A stream ends when its credential does.
"""

from __future__ import annotations

import asyncio
import inspect
import ipaddress
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, NoReturn
from urllib.parse import unquote

from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection

from kgsvc.access.audit import Audit
from kgsvc.access.authentication import AccessSettings, Authenticator, Presented
from kgsvc.access.quotas import Rates
from kgsvc.access.scopes import ANYBODY, EVERY_GROUP, Caller, Principal, Right, current_caller
from kgsvc.api.calls import Call, Context, Wrapping, current_call
from kgsvc.api.errors import failure_of, to_status
from kgsvc.domain.errors import AccessDenied, Overloaded, Unauthenticated

AUTHORIZATION = "authorization"
UNPROVEN = "(unproven)"  # in the audit: whoever presented a wrong credential
# What each operation needs in the groups that it works on.
RIGHTS: Mapping[str, Right] = {
    **dict.fromkeys(("Healthcheck", "GetReceipt", "WatchReceipt", "ListItems"), Right.READ),
    **dict.fromkeys(("SearchFacts", "SearchGraph", "GetMemory", "Ask", "GetEpisodes"), Right.READ),
    **dict.fromkeys(
        ("GetEntityEdge", "GetEntityNode", "GetRelation", "GetFactHistory", "WatchGroup"), Right.READ
    ),
    **dict.fromkeys(("GetOntology", "GetCommunityBuild", "ListCommunities", "GetErasure"), Right.READ),
    **dict.fromkeys(("ListGroups", "ListMerges"), Right.READ),
    **dict.fromkeys(("AddMessages", "AddEpisodes", "StreamEpisodes", "AddEntityNode"), Right.WRITE),
    **dict.fromkeys(("AddDocuments", "StreamDocuments", "DeleteDocument"), Right.WRITE),
    **dict.fromkeys(("GetDocument", "ListDocuments"), Right.READ),
    **dict.fromkeys(
        ("RetryItems", "UpdateFact", "MergeEntityNodes", "UndoMerge", "SplitEntityNode", "UndoSplit"),
        Right.WRITE,
    ),
    **dict.fromkeys(("RetractFact", "DeleteEntityEdge", "DeleteEpisode", "BuildCommunities"), Right.WRITE),
    **dict.fromkeys(("DeleteGroup", "PutOntology", "ClearAll", "SetModes"), Right.ADMIN),
    **dict.fromkeys(("ExportGroup", "ImportGroup"), Right.ADMIN),
}
_AUDITED_CODES = frozenset({"UNAUTHENTICATED", "PERMISSION_DENIED"})
_OF_ALL_GROUPS = frozenset({"ClearAll"})  # they name no group and work on every one
_HEALTH = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name
_IPV6_NETWORK = 64  # bits that a customer of a provider has to himself


@dataclass(frozen=True, slots=True)
class Access:
    """How a server knows its callers (None: everybody may do everything) and where it notes what they do."""

    settings: AccessSettings = field(default_factory=AccessSettings)
    authenticator: Authenticator | None = None
    audit: Audit | None = None
    rates: Rates = field(default_factory=Rates)

    def note(self, call: Call) -> None:
        """Audit a call that has ended, if it was to write or was denied to somebody."""
        who = ANYBODY.name if self.authenticator is None else call.who
        audited = call.error_code in _AUDITED_CODES or RIGHTS.get(call.operation, Right.READ) > Right.READ
        if self.audit is None or who is None or not audited:
            return
        self.audit.note(
            {
                "who": who,
                "credential": call.credential,
                "peer": call.peer,
                "operation": call.operation,
                "groups": call.group_ids,
                "uuids": call.uuids or None,
                "items": call.items,
                "outcome": call.outcome,
                "error_code": call.error_code,
                "request_id": call.request_id or None,
            }
        )


class AccessInterceptor(Wrapping):
    """Stands inside of CallInterceptor, which makes statuses of what it raises around our own operations, and
    audits them; around others (health, reflection) it answers and audits itself."""

    def __init__(
        self,
        package: str,
        settings: AccessSettings,
        authenticator: Authenticator,
        rates: Rates,
        audit: Callable[[Call], None],
    ) -> None:
        super().__init__()
        self._prefix = f"/{package}."
        self._authenticator = authenticator
        self._rates = rates
        self._audit = audit
        gates = {_HEALTH: settings.health, reflection.SERVICE_NAME: settings.reflection}
        self._open = tuple(f"/{service}/" for service, gate in gates.items() if gate == "open")

    def _wraps(self, method: str) -> bool:
        return not method.startswith(self._open)

    def _entry(self, method: str) -> Callable[[Principal], None]:
        own = method.startswith(self._prefix)
        return _own_entry(method.rpartition("/")[2], self._rates) if own else _foreign_entry

    def _unary(self, behaviour: Any, method: str) -> Any:
        enter = self._entry(method)

        async def answer(request: Any, context: Context) -> Any:
            await self._admit(context, enter, _call_of(method, context))
            return await behaviour(request, context)

        return answer

    def _streaming(self, behaviour: Any, method: str) -> Any:
        enter = self._entry(method)

        async def answer(request: Any, context: Context) -> AsyncIterator[Any]:
            call = _call_of(method, context)
            principal = await self._admit(context, enter, call)
            ended = asyncio.ensure_future(self._authenticator.ended(principal))
            try:
                async with aclosing(_responses(behaviour, request, context)) as responses:
                    async for response in _until(ended, responses):
                        yield response
            except Unauthenticated as error:
                await self._refuse(context, error, call)
            finally:
                ended.cancel()

        return answer

    async def _admit(self, context: Context, enter: Callable[[Principal], None], call: Call) -> Principal:
        """The caller, proven and let in."""
        presented = _presented(context)
        if presented.authorization is not None:
            call.who = UNPROVEN
        try:
            principal = await self._authenticator.authenticate(presented)
            call.who, call.credential = principal.name, principal.credential
            enter(principal)
        except (AccessDenied, Overloaded) as error:
            await self._refuse(context, error, call)
        return principal

    async def _refuse(self, context: Context, error: AccessDenied | Overloaded, call: Call) -> NoReturn:
        """Raise it where CallInterceptor answers it; elsewhere audit the call and end it with its status."""
        if current_call.get(None) is not None:
            raise error
        failure = failure_of(error)
        call.refuse(failure.error_code)
        self._audit(call)
        await context.abort(*to_status(failure, ""))


def _call_of(method: str, context: Context) -> Call:
    """The call as CallInterceptor knows it; a new one around what that does not wrap."""
    return current_call.get(None) or Call(method.removeprefix("/"), "", peer=context.peer())


def _own_entry(operation: str, rates: Rates) -> Callable[[Principal], None]:
    """Lets callers of one of our operations in. Raises PermissionDenied, QuotaExceeded."""
    needs = RIGHTS[operation]

    def enter(principal: Principal) -> None:
        caller = Caller(principal, needs)
        rates.called(principal, monotonic())
        caller.require_somewhere()
        if operation in _OF_ALL_GROUPS:
            caller.require([EVERY_GROUP])
        current_caller.set(caller)

    return enter


def _foreign_entry(_principal: Principal) -> None:
    """Health and reflection tell everybody the same."""


def _responses(behaviour: Any, request: Any, context: Context) -> AsyncGenerator[Any, None]:
    """What a method answers with. One that writes to the context itself, as that of grpc.health.v1 does,
    yields nothing."""
    if not inspect.iscoroutinefunction(behaviour):
        return behaviour(request, context)  # type: ignore[no-any-return]

    async def written() -> AsyncGenerator[Any, None]:
        await behaviour(request, context)
        return
        yield

    return written()


async def _until(ended: asyncio.Future[None], responses: Any) -> AsyncIterator[Any]:
    """The responses, until `ended`. Raises Unauthenticated then."""
    while True:
        following = asyncio.ensure_future(anext(responses, None))
        try:
            await asyncio.wait({following, ended}, return_when=asyncio.FIRST_COMPLETED)
            if ended.done():
                raise Unauthenticated("the credential is not valid any more")
        except (asyncio.CancelledError, Unauthenticated):
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            raise
        response = following.result()
        if response is None:
            return
        yield response


def _presented(context: Context) -> Presented:
    given = [value for key, value in context.invocation_metadata() or () if key == AUTHORIZATION]
    if len(given) > 1:
        given = [""]  # which one would be meant
    proven = context.auth_context()
    names = proven.get("x509_subject_alternative_name") or proven.get("x509_common_name") or ()
    certificate = [bytes(name).decode("utf-8", "replace") for name in names]
    return Presented(_text(given[0]) if given else None, certificate, address_of(context.peer()))


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def address_of(peer: str) -> str:
    """Who is meant by a peer as gRPC names it: an address without its port, of IPv6 the network."""
    _, _, place = unquote(peer).partition(":")
    host = place.rpartition(":")[0].strip("[]")
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host or place
    if address.version == 4:
        return host
    return str(ipaddress.ip_network((address, _IPV6_NETWORK), strict=False))
