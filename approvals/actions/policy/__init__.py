"""Give, use and end grants, and write the policy. Each is one transaction with what it is part of, on record.

`deciding.decide` gives one with an approval whose `Answer` has `grant=Terms(...)`. `asking` uses one for a request that it
covers. `revoke_grant`, `ask_about_everything` and the sweep end them.

`write_policy`, `confirm_policy` and `decline_policy` write versions of the policy; `judging` says what the live one makes of a
request that is asked.
"""

from approvals.actions.policy.ending import ask_about_everything, end_due_grants, revoke_grant
from approvals.actions.policy.ruling import confirm_policy, decline_policy, write_policy

__all__ = [
    "ask_about_everything",
    "confirm_policy",
    "decline_policy",
    "end_due_grants",
    "revoke_grant",
    "write_policy",
]
