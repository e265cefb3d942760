"""Reads that direct people's attention."""
