"""Extraction by rules: no key, no network, no model, the same result every time.

The way of a text: speakers (who speaks, what short names mean) → text (sentences, words) → marking (names,
times and amounts as marks) → claims (which patterns fit, tenses tells when) → prose, which keeps all
words and puts the claims beside them, restated by wording where that is safe. aliases finds further
names that a text gives itself, scripts and japanese read other languages, records and fields JSON; scene
collects entities and facts.
"""
