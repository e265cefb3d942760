"""Ways in for machines: each parses what comes, calls the desk, and words what the desk says."""
