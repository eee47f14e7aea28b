"""One-line faults that the tests must notice: `make mutants`; the table of them is mutants.toml.

table.py reads the table, anchors.py finds the function that a fault belongs to, sites.py draws faults,
running.py plants each in a copy of the tree and runs the suites that should notice it.
"""
