"""Stored parts of the policy: rules, grants, approver scopes, votes and absences."""
