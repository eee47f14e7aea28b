"""A group as JSON lines: exported from one store, checked, imported into another."""
