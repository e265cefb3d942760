"""The REST API for agents that run anywhere; every view ends in `approvals.actions` or `approvals.queries`."""
