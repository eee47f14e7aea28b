"""Models behind the OpenAI API: any server that speaks its chat completions and embeddings.

Here are the settings alone, so that reading a configuration does not load the client library; the classes are
in `extractor`, `embedder` and `transport`.
"""

from kgsvc.models.openai.settings import ChatModel, EmbeddingModel, Endpoint

__all__ = ["ChatModel", "EmbeddingModel", "Endpoint"]
