"""The types of the service: the graph, the durable life of an item, keys, the ontology."""
