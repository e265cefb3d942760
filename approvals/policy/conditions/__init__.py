"""The conditions of rules: their language, what they cost, and when two values are equal."""
