"""Extractors and embedders behind small protocols: an OpenAI-compatible model, or rules with no model."""
