"""Searching the graph. Ranking happens here only, once for every store."""

# numpy imports it at the first np.unique, which may be on the event loop while a thread imports it as well.
import numpy.ma  # noqa: F401
