"""Give, use and end grants. Each is one transaction with what it is part of, on record.

`deciding.decide` gives one with an approval whose `Answer` has `grant=Terms(...)`. `asking` uses one for a request that it
covers. `revoke_grant`, `ask_about_everything` and the sweep end them.
"""

from approvals.actions.policy.ending import ask_about_everything, end_due_grants, revoke_grant

__all__ = ["ask_about_everything", "end_due_grants", "revoke_grant"]
