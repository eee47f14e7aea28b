"""Documents: files of several formats as text."""
