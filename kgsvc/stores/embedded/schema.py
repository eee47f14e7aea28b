"""The schema of the embedded store: schema.sql, its version, and how ids are made up.

The id of a row carries its group's gid in the upper bits: whole groups are read and removed by a span of ids.
"""

from importlib import resources

ID_BITS = 32
SCHEMA_VERSION = 32
SCHEMA = resources.files(__package__).joinpath("schema.sql").read_text("utf-8")
