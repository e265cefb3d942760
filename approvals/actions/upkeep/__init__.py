"""Upkeep by the processes themselves: heartbeats, and removing old rows."""
