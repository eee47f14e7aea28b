"""From an accepted item to the graph: intake, extraction, embedding, commit in micro-batches."""
