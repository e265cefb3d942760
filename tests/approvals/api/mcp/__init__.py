"""Tests of the MCP endpoint."""
