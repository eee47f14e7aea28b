"""The embedded store: one SQLite file in a directory, opened by any number of processes of one machine."""

from kgsvc.stores.embedded.store import EmbeddedStore

__all__ = ["EmbeddedStore"]
