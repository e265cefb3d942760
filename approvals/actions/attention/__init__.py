"""Actions that help people to look where it matters."""

from approvals.actions.attention.advising import advise
from approvals.actions.attention.flooding import new_requests, tell_of_floods

__all__ = ["advise", "new_requests", "tell_of_floods"]
