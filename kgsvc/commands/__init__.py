"""What a caller may ask for, free of gRPC: reads and writes live here alike."""
