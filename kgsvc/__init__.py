"""kgsvc: a durable bitemporal knowledge graph behind gRPC."""
