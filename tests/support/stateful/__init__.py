"""Random operations on the model store and on a real one, compared after each (design §5)."""

from tests.support.stateful.run import groups_of, run

__all__ = ["groups_of", "run"]
