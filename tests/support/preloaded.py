"""What processes of `kgsvc` import sooner or later: the process that spawning.py copies has it in memory."""

import os
from importlib import import_module

# As the command sets them: libraries read them when they are imported, and threads would not be copied.
os.environ |= {"OPENBLAS_NUM_THREADS": "1", "GRPC_VERBOSITY": "NONE"}

from kgsvc.cli import main as kgsvc  # first: a module of this package takes the name of the function

__all__ = ["kgsvc"]
for _name in (
    "kgsvc.cli.main",
    "kgsvc.cli.serve",
    "kgsvc.app",
    "kgsvc.models.openai.answering",
    "kgsvc.models.openai.embedder",
    "kgsvc.stores.embedded",
    "kgsvc.stores.neo4j",
    "openai.resources.chat",
    "openai.resources.embeddings",
):
    import_module(_name)
