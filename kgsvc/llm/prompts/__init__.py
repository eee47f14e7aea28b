"""llm/prompts"""
