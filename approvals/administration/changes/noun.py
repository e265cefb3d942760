"""The base class of kinds of change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User

from approvals.access.standing import Standing
from approvals.models import PendingChange


class Noun(ABC):
    """A kind of change: its text, the state that it replaces, and its effect."""

    #: Whether it can only be carried out while the state that it replaces is unchanged since the request.
    replaces = False
    #: The name of the lock held meanwhile; empty for none.
    lock = ""

    @abstractmethod
    def words(self, change: PendingChange) -> str:
        """Return the effect as a sentence."""

    @abstractmethod
    def now(self, change: PendingChange) -> Any:
        """Return the current state of its subject."""

    @abstractmethod
    def address(self, change: PendingChange) -> str:
        """Return the address of the page of its subject."""

    @abstractmethod
    def carry_out(self, change: PendingChange, *, by: User) -> None:
        """Apply the change, inside the transaction that confirms it."""

    def lines(self, change: PendingChange) -> Sequence[str]:
        """Return the difference, line by line."""
        return ()

    def require_other(self, change: PendingChange, by: Standing) -> None:  # noqa: B027 - most limit no one
        """Raise NotAllowed for administrators who would loosen their own limits."""

    def give_up(self, change: PendingChange, *, by: User) -> None:  # noqa: B027 - most made nothing
        """Undo the effects of the request itself, inside the transaction that withdraws it."""
