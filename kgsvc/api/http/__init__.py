"""The contract over HTTP: Connect, gRPC-Web and server-sent events, by the handlers that gRPC calls."""
