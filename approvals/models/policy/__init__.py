"""What the policy of an installation stores: rules, grants, approver scopes, votes and absences."""
