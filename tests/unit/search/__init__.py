"""Ranking, its indexes and their cache."""
