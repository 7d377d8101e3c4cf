"""An MCP server by which agents play: a client of the ordinary protocol of bots."""
