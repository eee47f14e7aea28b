"""The command `kgsvc`: one file for each command; docs/commands.md names those that do not talk gRPC."""

import os


def main() -> None:
    """Run the command line. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 items were parked."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # or the library adds its own lines to our one sentence
    # Searches run beside each other; a thread pool inside each product of a small matrix only costs.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from kgsvc.cli.main import cli

    cli(prog_name="kgsvc")
