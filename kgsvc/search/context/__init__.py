"""Texts for a language model to answer from, made of what a search found."""
