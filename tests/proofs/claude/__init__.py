"""Claude behind a whole installation: killed processes, branches, other models, and secrets in upstream errors."""
