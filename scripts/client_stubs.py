"""The Python client's stubs: those of the service under the client's own name, so that neither package needs
the other, and that of the details of a gRPC status. Run by `make proto`."""

import re
from pathlib import Path

from grpc_tools import protoc  # type: ignore[import-untyped]

ROOT = Path(__file__).resolve().parents[1]
CLIENT = ROOT / "clients" / "python"
SOURCE, TARGET = ROOT / "kgsvc" / "v1", CLIENT / "kgsvc_client" / "v1"
_OURS = re.compile(r"from kgsvc\.v1 import|'kgsvc\.v1\.\w+_pb2'")


def renamed(text: str) -> str:
    """A stub as the client has it; the names of services and messages stay those of the contract."""
    return _OURS.sub(lambda found: found[0].replace("kgsvc.v1", "kgsvc_client.v1"), text)


def main() -> None:
    """Write them all again. Raises SystemExit."""
    TARGET.mkdir(exist_ok=True)
    for path in TARGET.glob("*_pb2*"):
        path.unlink()
    for path in sorted(SOURCE.glob("*_pb2*")):
        (TARGET / path.name).write_text(renamed(path.read_text(encoding="utf-8")), encoding="utf-8")
    made = [f"--{kind}_out={CLIENT}" for kind in ("python", "pyi")]
    if protoc.main(["protoc", f"--proto_path={CLIENT}", *made, "kgsvc_client/rpc_status.proto"]) != 0:
        raise SystemExit("protoc failed")


if __name__ == "__main__":
    main()
