"""From an accepted item to the graph: extract, embed, resolve, plan, commit, summarise."""
