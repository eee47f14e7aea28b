"""A group in memory: its facts and texts by row, kept current, and in files."""
