"""What is known of a kind of change."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User

from approvals.access.standing import Standing
from approvals.models import PendingChange
from approvals.states import Door


class Noun(ABC):
    """A kind of change: what people read of it, what it would replace now, and what it does."""

    #: Whether it is only carried out while what it replaces is as it was when it was requested.
    replaces = False
    #: The name of the lock that is held meanwhile; empty for none.
    lock = ""

    @abstractmethod
    def words(self, change: PendingChange) -> str:
        """Return what it does, as a sentence."""

    @abstractmethod
    def now(self, change: PendingChange) -> Any:
        """Return what it is about, as that is now."""

    @abstractmethod
    def address(self, change: PendingChange) -> str:
        """Return the address of the page that it is about."""

    @abstractmethod
    def carry_out(self, change: PendingChange, *, by: User, via: Door) -> None:
        """Do it, inside the transaction that confirms it."""

    def lines(self, change: PendingChange) -> Sequence[str]:
        """Return what it changes line by line, as a difference."""
        return ()

    def require_other(self, change: PendingChange, by: Standing) -> None:  # noqa: B027 - most limit no one
        """Raise NotAllowed for an administrator who would loosen what limits themselves."""

    def give_up(self, change: PendingChange, *, by: User, via: Door) -> None:  # noqa: B027 - most made nothing
        """Undo what the request for it has made, inside the transaction that withdraws it."""
