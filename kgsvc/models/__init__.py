"""Language models and embedders behind one protocol: an OpenAI-compatible server, a local model, or rules."""
