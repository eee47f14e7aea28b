"""llm/offline"""
