"""Reads about what is decided by rule."""
