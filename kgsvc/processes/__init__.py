"""Several processes that serve as one: started, watched, started again and ended by a parent.

The parent never touches gRPC, a store or a model. Every other process is an interpreter of its
own (kgsvc.cli.member).
"""

from kgsvc.processes.child import ProcessFailed
from kgsvc.processes.supervisor import run

__all__ = ["ProcessFailed", "run"]
