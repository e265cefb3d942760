"""An MCP server with one tool, which the crews of this folder start."""

from mcp.server.fastmcp import FastMCP

server = FastMCP("bank")


@server.tool()
def refund(order: str) -> str:
    """Refund an order."""
    return f"refunded {order}"


server.run()
