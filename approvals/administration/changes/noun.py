"""What is known of a kind of change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from django.contrib.auth.models import User

from approvals.models import PendingChange
from approvals.states import Door


class Step(Protocol):
    """Carries a change out, or gives it up, inside the transaction that confirms or withdraws it."""

    def __call__(self, change: PendingChange, /, *, by: User, via: Door) -> None: ...


def _nothing(_change: PendingChange, *, by: User, via: Door) -> None:
    """Do nothing."""


def _no_objection(_change: PendingChange, _by: User) -> None:
    """Raise nothing."""


def _no_lines(_change: PendingChange) -> Sequence[str]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Noun:
    """A kind of change: what people read of it, what it would replace now, and what it does.

    `require_other` raises NotAllowed for an administrator who would loosen what limits themselves. A change that `replaces`
    something is only carried out while that is as it was when it was requested. `lock` is held meanwhile.
    """

    words: Callable[[PendingChange], str]
    now: Callable[[PendingChange], Any]
    carry_out: Step
    address: Callable[[PendingChange], str]
    lines: Callable[[PendingChange], Sequence[str]] = _no_lines
    require_other: Callable[[PendingChange, User], None] = _no_objection
    give_up: Step = _nothing
    replaces: bool = False
    lock: str = ""
