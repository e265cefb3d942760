"""Actions that help people to look where it matters."""

from approvals.actions.attention.advising import advise

__all__ = ["advise"]
