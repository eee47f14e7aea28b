"""kgsvc: a durable bitemporal knowledge graph behind gRPC."""

import os

# Files are read by processes of their own. When one is started, gRPC would stop its threads and begin them
# anew: calls under way lose their connection or hang, and some children crash before their program begins.
# It does so for children that go on using gRPC; ours run another program.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
