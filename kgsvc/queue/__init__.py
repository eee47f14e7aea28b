"""Durable work: group leases, fencing, retry with backoff, parking. Knows nothing of language models."""
