"""Leased work: leases, fencing, retries, parking. Knows nothing of what the work is."""
