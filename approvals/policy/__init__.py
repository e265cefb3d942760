"""Decisions by rule instead of by a person: matches over requests, and the grants, scopes and rules that use them.

Pure: nothing here reads or writes the database. `match` tests whether a request matches, and why; `documents` reads the stored
form of a match; `globs` is the only grammar of patterns.
"""
