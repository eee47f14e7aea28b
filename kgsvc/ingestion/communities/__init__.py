"""Building communities: read the graph, detect, draft, describe, publish."""
