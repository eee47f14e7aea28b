"""Entities by their names: which are one, which merge, what is forgotten. Pure."""
