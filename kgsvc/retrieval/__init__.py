"""Ranking of facts, once for every store (design §6): in-process indexes of groups, fed by SearchStore."""
