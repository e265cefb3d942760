"""Give, use and end grants, and write the policy. Each happens in the transaction of its caller's action, on record.

`deciding.decide` gives a grant with an approval whose `Answer` has `grant=GrantTerms(...)`. A covered ask uses it (`grants.use`).
`revoke_grant`, `ask_about_everything` and the sweep end grants.

`write_policy`, `apply_proposal` and `decline_proposal` write versions of the policy; `asks` applies the live one to new
requests.
"""

from approvals.actions.policy.grants.end import (
    ask_about_everything,
    end_due_grants,
    revoke_grant,
)
from approvals.actions.policy.policy_versions import (
    apply_proposal,
    decline_proposal,
    write_policy,
)

__all__ = [
    "apply_proposal",
    "ask_about_everything",
    "decline_proposal",
    "end_due_grants",
    "revoke_grant",
    "write_policy",
]
