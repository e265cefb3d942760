"""The conditions of rules: their language, cost and equality."""
