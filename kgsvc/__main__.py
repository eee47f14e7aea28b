"""`python -m kgsvc` is the command `kgsvc`."""

from kgsvc.cli import main

if __name__ == "__main__":
    main()
