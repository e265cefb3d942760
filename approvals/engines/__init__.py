"""Durable engines: the call that takes a decision to each of them, and what its responses mean. No database."""
