"""Models behind the OpenAI API: any server that speaks its chat completions and embeddings."""

from kgsvc.llm.openai.embedder import OpenAIEmbedder
from kgsvc.llm.openai.extractor import OpenAIExtractor
from kgsvc.llm.openai.settings import ChatModel, EmbeddingModel, Endpoint
from kgsvc.llm.openai.transport import Transport

__all__ = ["ChatModel", "EmbeddingModel", "Endpoint", "OpenAIEmbedder", "OpenAIExtractor", "Transport"]
