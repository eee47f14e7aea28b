"""Who may do what: credentials and their scopes, how a caller proves who it is, and the audit of what it did.

Free of gRPC and of the contract: `api/access.py` asks this room before it reads a request.
"""
