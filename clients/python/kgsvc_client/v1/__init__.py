"""Generated stubs of the contract."""
