"""A request as one person sees it: what is asked, in rows that can be read, and which buttons are theirs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from approvals import auth
from approvals.answers import words_of
from approvals.auth import Person
from approvals.care import name_to_type
from approvals.exceptions import Invalid, Refusal
from approvals.forms import EditField, edit_fields
from approvals.holders import NOBODY, Holder, holder_for
from approvals.models import ApprovalRequest, Decision
from approvals.states import Door, Kind, Verdict


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table of values; `block` where the value needs more than a line."""

    name: str
    value: str
    block: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What the template `approvals/_request.html` shows. `refusal` is why the last try was not taken."""

    request: ApprovalRequest
    decision: Decision | None
    may_close: bool
    may_cancel: bool
    door: str = Door.DASHBOARD
    holder: Holder = NOBODY
    refusal: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)
    typed: Mapping[str, str] = field(default_factory=dict)

    @property
    def version(self) -> str:
        """Changes with the request and with what this person may do; else a page keeps what is being typed."""
        return f"{self.request.status}-{self.request.changed_at.timestamp()}-{self.may_close}"

    @property
    def name_to_type(self) -> str:
        """What has to be typed to approve it; empty where nothing has."""
        return name_to_type(self.request)

    @property
    def asks(self) -> bool:
        """A question or form, as opposed to something to approve."""
        return self.request.kind in {Kind.QUESTION, Kind.FORM}

    @property
    def shows_input(self) -> bool:
        """A question's input says again what the card shows anyway."""
        return not self.asks and bool(self.request.input)

    @property
    def input_rows(self) -> list[Row]:
        return rows(self.request.input)

    @property
    def input_json(self) -> str:
        return pretty(self.request.input)

    @property
    def context_rows(self) -> list[Row]:
        context = self.request.context
        return rows(context if isinstance(context, dict) else {"context": context}) if context else []

    @property
    def edit_fields(self) -> list[EditField]:
        """Fields to edit the input with, holding what was typed before a refusal (an unticked box is not sent)."""
        fields = edit_fields(self.request.input)
        if self.typed.get("verdict") != Verdict.EDIT:
            return fields
        sent = {field.name: self.typed.get(f"input.{field.name}") for field in fields}
        return [replace(f, value=sent[f.name] or "", checked=sent[f.name] is not None) for f in fields]

    @property
    def changed_rows(self) -> list[tuple[str, str, str]]:
        """What an edit changed: name, proposed, approved."""
        if self.decision is None or self.decision.edited_input is None:
            return []
        before, after = self.request.input, self.decision.edited_input
        names = [*before, *(name for name in after if name not in before)]
        found = ((name, *(pretty(side[name]) if name in side else "" for side in (before, after))) for name in names)
        return [(n, text(before.get(n, "")), text(after.get(n, ""))) for n, was, now in found if was != now]

    @property
    def answer_text(self) -> str:
        """The answer as one would say it."""
        if self.decision is None or self.decision.verdict not in {Verdict.RESPOND, Verdict.EXPIRE}:
            return ""
        return words_of(self.decision.answer)


def card_for(user: Person, request: ApprovalRequest, *, door: str = Door.DASHBOARD) -> Card:
    return Card(
        request=request,
        decision=getattr(request, "decision", None),
        may_close=request.pending and auth.may_close(user, request),
        may_cancel=request.pending and auth.may_cancel(user, request.requested_by_id),
        holder=holder_for(user, request),
        door=door,
    )


def refused_card(user: Person, request: ApprovalRequest, refusal: Refusal, typed: Mapping[str, str], door: str) -> Card:
    """The card again, saying why, with what was typed still in it."""
    card = card_for(user, request, door=door)
    return Card(
        request=card.request,
        decision=card.decision,
        may_close=card.may_close,
        may_cancel=card.may_cancel,
        holder=card.holder,
        door=door,
        refusal=str(refusal),
        errors=refusal.errors if isinstance(refusal, Invalid) else {},
        typed=typed,
    )


def rows(value: Any) -> list[Row]:
    """A JSON object as lines of a table; anything else as one line."""
    if not isinstance(value, dict):
        value = {"value": value}
    found = []
    for name, item in value.items():
        shown = text(item)
        found.append(Row(name, shown, block=isinstance(item, dict | list) or "\n" in shown or len(shown) > 80))
    return found


def text(value: Any) -> str:
    return value if isinstance(value, str) else pretty(value)


def pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
