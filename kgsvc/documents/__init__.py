"""Documents: files of several formats as text, cut into chunks, by revisions."""
