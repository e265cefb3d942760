"""Hooks of coding agents: Claude Code and Codex ask people here, in their own formats."""
