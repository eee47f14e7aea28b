"""Random operations on the model store and on a real one, compared after each (docs/design/stores.md)."""

from tests.support.stateful.run import groups_of, run

__all__ = ["groups_of", "run"]
