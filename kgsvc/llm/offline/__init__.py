"""Extraction by rules and embedding by hashing: no key, no network, no model, the same result every time.

An episode passes through speakers (who says it), sentences, words, names and times (what it names, and
when), phrases and clauses (who does what), relations (the table of what verbs mean), pronouns (facts that
read alone) and prose or json_source (which put the graph together on a Scene).
"""
