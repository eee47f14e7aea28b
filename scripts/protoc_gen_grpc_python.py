"""The gRPC service generator of grpcio-tools as a protoc plugin of its own.

grpcio-tools links its generator into its protoc and ships no plugin executable, so buf cannot call it.
This reads a CodeGeneratorRequest, runs that protoc on the same descriptors, and answers with its files.
"""

import sys
import tempfile
from pathlib import Path

from google.protobuf.compiler import plugin_pb2
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc  # type: ignore[import-untyped]


def generate(request: plugin_pb2.CodeGeneratorRequest) -> plugin_pb2.CodeGeneratorResponse:
    """Return one `*_pb2_grpc.py` for each file asked for that declares services."""
    response = plugin_pb2.CodeGeneratorResponse()
    response.supported_features = plugin_pb2.CodeGeneratorResponse.FEATURE_PROTO3_OPTIONAL
    having_services = {file.name for file in request.proto_file if file.service}
    wanted = [name for name in request.file_to_generate if name in having_services]
    with tempfile.TemporaryDirectory() as folder:
        descriptors = Path(folder, "descriptors.binpb")
        descriptors.write_bytes(FileDescriptorSet(file=request.proto_file).SerializeToString())
        out = Path(folder, "out")
        out.mkdir()
        arguments = ["protoc", f"--descriptor_set_in={descriptors}", f"--grpc_python_out={out}", *wanted]
        if wanted and protoc.main(arguments) != 0:
            response.error = "grpc_tools.protoc failed"
            return response
        for path in sorted(out.rglob("*.py")):
            response.file.add(name=path.relative_to(out).as_posix(), content=path.read_text(encoding="utf-8"))
    return response


if __name__ == "__main__":
    asked = plugin_pb2.CodeGeneratorRequest.FromString(sys.stdin.buffer.read())
    sys.stdout.buffer.write(generate(asked).SerializeToString())
