"""Extraction by rules: no key, no network, no model, the same result every time.

The way of a text: speakers (who speaks, what short names mean) → text (sentences, words) → marking (names,
times and amounts as marks) → claims (which patterns fit), kin → prose, which keeps all words and puts the
claims beside them, restated by wording where that is safe; aliases reads further names. names finds where a
name begins, runs where it ends, wholes whether it is one whole name; fragments tells what of a document is no
sentence, usage how all of a text uses its words, substance which say something. english holds words and verb
forms, tenses tells when a claim holds; scripts reads other languages, records and fields JSON; scene collects
entities and facts.
"""
