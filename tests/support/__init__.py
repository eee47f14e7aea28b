"""What tests share: scripted servers and helpers."""
