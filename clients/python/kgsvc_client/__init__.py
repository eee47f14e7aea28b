"""A client of kgsvc, a memory service: what was said, what is known, and what was true when.

    memory = Client().group("alice")
    memory.add([{"role": "user", "content": "I moved to Berlin."}], wait=True)
    print(memory.context("Where does Alice live?"))

kgsvc_client.aio has the same for asyncio.
"""

from kgsvc_client.blocking import Client, Group
from kgsvc_client.errors import (
    AccessDenied,
    Conflict,
    DeadlineExceeded,
    InvalidInput,
    KgsvcError,
    NotFound,
    OlderService,
    ServiceFault,
    Unavailable,
    Unreachable,
)
from kgsvc_client.items import Message, Note

__all__ = [
    "AccessDenied",
    "Client",
    "Conflict",
    "DeadlineExceeded",
    "Group",
    "InvalidInput",
    "KgsvcError",
    "Message",
    "NotFound",
    "Note",
    "OlderService",
    "ServiceFault",
    "Unavailable",
    "Unreachable",
]
__version__ = "0.1.0"
