"""Logs, metrics and redaction: what can be seen of the service from outside."""
