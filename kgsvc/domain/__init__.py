"""Rules and types of the knowledge graph, free of I/O (design: domain knows nobody)."""
