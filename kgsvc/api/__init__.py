"""The gRPC surface: proto ↔ domain values, the envelope, strictness, errors. Protobuf stops here."""
