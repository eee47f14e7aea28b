"""llm/openai"""
