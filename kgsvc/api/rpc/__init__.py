"""The RPCs of the contract, one file for each noun: reading the request, the operation, its answer."""
