"""Django's admin for administrators."""

from approvals.admin import keys, people, records, subscriptions, votes

__all__ = ["keys", "people", "records", "subscriptions", "votes"]
