"""What a process has seen of a cluster: the bookmarks that its sessions begin with and leave."""

from __future__ import annotations

from collections.abc import Collection

from neo4j.api import AsyncBookmarkManager


class Seen(AsyncBookmarkManager):
    """Each session waits for what those before it wrote or read.

    It holds no more bookmarks than there are connections: a session takes away those that it began with, so
    that what is left comes from sessions that ran at the same time.
    """

    def __init__(self) -> None:
        self.bookmarks: frozenset[str] = frozenset()

    async def get_bookmarks(self) -> Collection[str]:
        """With which a session begins."""
        return self.bookmarks

    async def update_bookmarks(
        self, previous_bookmarks: Collection[str], new_bookmarks: Collection[str]
    ) -> None:
        """A session that began with the former has come to the new ones."""
        if new_bookmarks:
            self.bookmarks = (self.bookmarks - frozenset(previous_bookmarks)) | frozenset(new_bookmarks)
