"""The settings of the service: one frozen tree, and the only place that reads the environment or a file.

A setting is named `section.field`. Its value comes from, first wins: a flag of the command line, the variable
KGSVC_SECTION_FIELD, the TOML file (table `section`, key `field`), the default. Everything is generic over the
dataclasses' fields: a new field is a new setting. A field with `repr=False` is a secret.
"""

from kgsvc.config.reading import FILE_VARIABLE, KEYS, Loaded, SettingKey, describe, load, read_ontology
from kgsvc.config.tree import (
    Client,
    ConfigError,
    Logging,
    Models,
    Server,
    Settings,
    StoreSettings,
    is_loopback,
    split_address,
    split_origins,
)

__all__ = [
    "FILE_VARIABLE",
    "KEYS",
    "Client",
    "ConfigError",
    "Loaded",
    "Logging",
    "Models",
    "Server",
    "SettingKey",
    "Settings",
    "StoreSettings",
    "describe",
    "is_loopback",
    "load",
    "read_ontology",
    "split_address",
    "split_origins",
]
