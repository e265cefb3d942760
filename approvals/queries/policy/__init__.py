"""Reads about the policy."""
