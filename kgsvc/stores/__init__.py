"""Where everything is kept: what a store must do (protocol.py), and the two that do it."""
