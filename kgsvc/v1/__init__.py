"""Generated stubs of the contract in proto/kgsvc/v1. Only `transport`, the command line and clients use them."""
