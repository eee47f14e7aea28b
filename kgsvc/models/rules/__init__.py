"""Extraction by rules: no key, no network, no model, the same result every time.

The way of a text: scene (who speaks, what short names mean) → text (sentences, words) → names and times →
phrases (tags, noun phrases, verb groups) → clauses (who does what) → reading (what phrases refer to) →
relations, copulas and statements (the facts) → wording (sentences that read alone). prose leads through.
"""
