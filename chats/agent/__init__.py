"""Agents, tools and the events of a turn; pure Python, no Django."""
