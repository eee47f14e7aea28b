"""Extraction by rules: no key, no network, no model, the same result every time.

The way of a text: speakers (who speaks, what short names mean) → text (sentences, words) → marking (names, times
and amounts as marks) → claims (which relations' patterns fit, in which tense) → prose, which keeps all words and
puts the claims beside them. scripts reads other languages, records JSON; scene collects entities and facts.
"""
