"""stores/neo4j"""
