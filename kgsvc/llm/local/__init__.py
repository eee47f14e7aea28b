"""Embedding by a small model on this machine, by fastembed and ONNX Runtime: the extra `kgsvc[local]`."""
