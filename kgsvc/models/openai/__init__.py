"""Models behind the OpenAI API: any server that speaks its chat completions and embeddings.

Reading a configuration loads `settings` alone, not the client library.
"""
