"""Give, use and end grants, and write the policy. Each is one transaction with what it is part of, on record.

`deciding.decide` gives one with an approval whose `Answer` has `grant=Terms(...)`. An ask that one covers uses it
(`grant_use`). `revoke_grant`, `ask_about_everything` and the sweep end them.

`write_policy`, `apply_proposal` and `decline_proposal` write versions of the policy; `asks` says what the live one makes of a
request that is asked.
"""

from approvals.actions.policy.ending import ask_about_everything, end_due_grants, revoke_grant
from approvals.actions.policy.ruling import apply_proposal, decline_proposal, write_policy

__all__ = [
    "apply_proposal",
    "ask_about_everything",
    "decline_proposal",
    "end_due_grants",
    "revoke_grant",
    "write_policy",
]
