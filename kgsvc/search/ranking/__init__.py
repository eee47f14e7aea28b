"""From a question to an order: methods, rerankers, evidence."""
