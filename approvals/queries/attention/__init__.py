"""Reads that help people to look where it matters."""
