"""The memory as tools and a resource of the Model Context Protocol, for `kgsvc mcp`."""
