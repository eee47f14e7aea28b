"""Messages in a body, each behind a byte of flags and four of length, as Connect streams and gRPC-Web do."""

from __future__ import annotations

from collections.abc import AsyncIterator

_HEAD = 5
COMPRESSED = 0x01
END_OF_STREAM = 0x02  # Connect: the last message, of JSON
TRAILERS = 0x80  # gRPC-Web: the last message, of header lines


class FramingError(Exception):
    """A body that is not made of such messages."""


class TooLarge(Exception):
    """A body or a message that has more bytes than are read."""


def frame(message: bytes, flags: int = 0) -> bytes:
    """A message in its frame."""
    return bytes((flags,)) + len(message).to_bytes(4, "big") + message


async def frames(chunks: AsyncIterator[bytes], most: int) -> AsyncIterator[bytes]:
    """The messages of a body, each as soon as it is there. Raises FramingError, TooLarge."""
    held = bytearray()
    async for chunk in chunks:
        held += chunk
        while len(held) >= _HEAD:
            size = int.from_bytes(held[1:_HEAD], "big")
            if held[0]:
                raise FramingError(
                    "compressed messages are not read" if held[0] & COMPRESSED else "unknown flags"
                )
            if size > most:
                raise TooLarge(f"a message has {size} bytes, at most {most} are read")
            if len(held) < _HEAD + size:
                break
            message = bytes(held[_HEAD : _HEAD + size])
            del held[: _HEAD + size]
            yield message
    if held:
        raise FramingError("the body ends within a message")
