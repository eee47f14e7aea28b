"""Searching the graph. Ranking happens here only, once for every store."""
