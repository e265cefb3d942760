"""MCP over Streamable HTTP: an agent's client asks people through five tools. See docs/how-to/mcp.md."""
