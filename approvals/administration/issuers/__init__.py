"""Issuers of access tokens, and the mappings of their tokens to users and scopes."""
