"""What move_store.py does to each kind of store."""


class RefusedError(Exception):
    """Why nothing is moved, in a sentence for whoever asked."""
