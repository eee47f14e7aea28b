"""Facts: which holds when, what contradicts what, and the plan of a change. Pure."""
