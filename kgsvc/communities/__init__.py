"""Communities of entities: detect, describe, publish, follow the graph."""
