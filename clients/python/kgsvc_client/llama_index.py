"""A memory block for LlamaIndex: what leaves the chat history goes into a group, and what bears on the
conversation comes back.

    block = KgsvcMemoryBlock(group=Client().group("alice"))
    memory = Memory.from_defaults(session_id="today", memory_blocks=[block])
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.bridge.pydantic import Field
from llama_index.core.memory import BaseMemoryBlock

from kgsvc_client.blocking import Group
from kgsvc_client.items import Message

_ROLES = {
    MessageRole.USER: "user",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.MODEL: "assistant",
    MessageRole.CHATBOT: "assistant",
}  # what others say (instructions, output of tools) is not remembered
_AT_ONCE = 256
_LOOKED_AT = 4  # the latest messages are what memories must bear on
_QUERY_CHARS = 8_000
_TOKEN_CHARS = 4


class KgsvcMemoryBlock(BaseMemoryBlock[str]):
    """The memory of a group. It gets the messages that leave the chat history (`Memory` has limits for it)
    and those that are given to `aput`. What bears on the latest messages is put before the model, at most
    `tokens` of it. With `wait`, taking messages lasts until the service has read them, so that they are
    found from then on; without, only until they are stored, and they are found some time later. Raises
    KgsvcError.
    """

    name: str = "Memory"
    group: Group = Field(exclude=True)
    user: str | None = Field(default=None, description="The name of the person who says what users say.")
    tokens: int = Field(default=1_000, ge=1, le=32_000)
    wait: bool = False

    async def _aget(self, messages: Sequence[ChatMessage] | None = None, **_others: Any) -> str:
        said = [message for message in messages or () if message.role in _ROLES][-_LOOKED_AT:]
        query = "\n".join(message.content or "" for message in said).strip()
        if not query:
            return ""
        return await asyncio.to_thread(self.group.context, query[-_QUERY_CHARS:], tokens=self.tokens)

    async def _aput(self, messages: Sequence[ChatMessage]) -> None:
        said = [
            Message(
                message.content, _ROLES[message.role], self.user if message.role == MessageRole.USER else None
            )
            for message in messages
            if message.role in _ROLES and message.content
        ]
        for at in range(0, len(said), _AT_ONCE):
            await asyncio.to_thread(self.group.add, said[at : at + _AT_ONCE], wait=self.wait)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """What is left when so many tokens must go: the beginning, which bears most on the conversation."""
        kept = content[: max(0, len(content) - tokens_to_truncate * _TOKEN_CHARS)]
        return kept.rpartition("\n")[0] or None
