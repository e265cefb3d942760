"""The REST API for agents that run anywhere: a door, so every view ends in `approvals.actions` or `approvals.queries`."""
