"""Extraction by rules and embedding by hashing: no key, no network, no model, the same result every time.

A text passes through speakers and cast (who talks, what short names mean), sentences, words, names and times
(what it names, and when), phrases, noun_phrases, verb_groups and clauses (who does what), referents,
relations, copulas and statements (what that states) and wording (facts that read alone). prose leads
through these, remarks keeps what fits no pattern, json_source walks JSON; all put it on a Scene.
"""
