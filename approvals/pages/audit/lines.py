"""Audit entries for people: the event in words, its subject, and its main values."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from approvals.actions.policy.grants.events import WIDTH_OF
from approvals.asking.secrets import masked_data, masked_input
from approvals.db.canonical_json import plain_number
from approvals.db.json_pointer import pointer_parts
from approvals.models import ApprovalRequest, AuditEntry, ToolSettings, Vote, Workflow
from approvals.pages.audit.labels import AREAS, EVENT_LABELS, REQUESTED, TONES
from approvals.pages.key_fields import key_values, short
from approvals.queries.audit import Subjects
from approvals.queries.described import read_schema
from approvals.queries.results import STATE_LABELS
from approvals.record.amounts import DECIMAL, DEFAULT
from approvals.shown.entries import ShownEntry, shown_entry
from approvals.states import (
    APPROVING,
    Door,
    GrantEnd,
    Kind,
    Verdict,
    Width,
    verdict_label,
)
from approvals.text.text import visible, visible_name
from approvals.text.times import clock_time

#: How many values a line shows, and how many characters of a note.
MAX_VALUES = 3
MAX_NOTE = 200
#: Members with a person's text or a call's error: the first of these is the note of a line, and none is among its values.
NOTES = ("comment", "text", "error_text", "explanation", "reason")


@dataclass(frozen=True, slots=True)
class SubjectLine:
    """The request of an entry, in a line."""

    title: str
    address: str


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One line of the audit page. `values` are names and values; `note` is a text by a person or tool.

    `verdict` and `amount` are empty where the entry has none, or a hidden amount. `people` are those who did it, by name.
    """

    entry: ShownEntry
    people: Sequence[str]
    text: str
    verdict: str
    amount: str
    icon: str
    tone: str
    values: Sequence[tuple[str, str]]
    note: str
    request: SubjectLine | None
    workflow: Workflow | None
    #: The id of the grant that it is about, or that approved the request.
    grant_id: str


def lines(entries: Sequence[AuditEntry], subjects: Subjects) -> list[AuditLine]:
    """Return the lines of entries read by `queries.audit.page_of`."""
    return [_line(entry, subjects) for entry in entries]


def _line(entry: AuditEntry, subjects: Subjects) -> AuditLine:
    data: Mapping[str, Any] = (
        masked_data(json.loads(entry.short_body)["data"]) if entry.short_body else {}
    )
    request = (
        subjects.requests.get(entry.request_id)
        if isinstance(entry.request_id, UUID)
        else None
    )
    state = str(data.get("verdict" if entry.event == "request.voted" else "state", ""))
    area = AREAS.get(entry.event.partition(".")[0], ("scroll-text", "plain"))
    kind = request.kind if request else str(data.get("kind", Kind.APPROVAL))
    amount = ""
    if entry.amount is not None and (request is None or request.amount_is_shown):
        amount = str(plain_number(entry.amount))
    icon, tone = TONES.get(entry.event) or TONES.get(entry.verdict or state) or area
    return AuditLine(
        shown_entry(entry),
        _people(entry, subjects.votes.get(request.pk, ()) if request else ()),
        words_of(entry, data, kind),
        _verdict_of(entry, data, kind),
        amount,
        icon,
        tone,
        _values(entry, data, amount, request, subjects.tools.get(entry.tool_name)),
        _note(data),
        None
        if request is None
        else SubjectLine(visible(request.title), request.get_absolute_url()),
        subjects.workflows.get((entry.scope, entry.run_id)),
        str(data.get("grant_id") or ""),
    )


def _people(entry: AuditEntry, votes: Sequence[Vote]) -> Sequence[str]:
    """Return everyone whose votes made a decision, or the actor of another entry; empty for Pausepoint."""
    approves = entry.verdict in APPROVING
    made = [vote for vote in votes if vote.counted and vote.approves == approves]
    if made and entry.event == "request.decided":
        return [vote.person_name for vote in made]
    return [name for name in [entry.actor_name] if name]


def words_of(entry: AuditEntry, data: Mapping[str, Any], kind: str) -> str:
    """Describe the event in a few words; `kind` is that of the request."""
    label = str(EVENT_LABELS.get(entry.event, entry.event))
    if entry.event == "request.decided" and entry.via == Door.GRANT:
        return _("Approved by grant")
    if (
        entry.event == "request.voted"
        and data.get("verdict") in Verdict.values
        and kind in Kind.values
    ):
        verdict = verdict_label(str(data["verdict"]), kind).lower()
        if data.get("for"):
            return _("Vote for %(name)s: %(verdict)s") % {
                "name": visible(str(data["for"])),
                "verdict": verdict,
            }
        return _("Vote: %(verdict)s") % {"verdict": verdict}
    if entry.event == "request.decided" and entry.via == Door.RULE:
        if data.get("repeats"):
            return _("Rejected as before")
        return (
            _("Approved by rule")
            if entry.verdict == Verdict.APPROVE
            else _("Rejected by rule")
        )
    if entry.event == "request.decided":
        return _verdict_of(entry, data, kind) or label
    if entry.event == "request.created":
        return str(REQUESTED[Kind(kind)]) if kind in Kind.values else label
    if entry.event == "request.assigned" and "to" in data:
        name = visible(str(data["to"] or ""))
        return (
            _("Assigned to %(name)s") % {"name": name}
            if name
            else str(EVENT_LABELS["request.released"])
        )
    if entry.event == "request.escalated" and (names := data.get("to")):
        return _("Escalated to %(names)s") % {
            "names": visible(", ".join(map(str, names)))
        }
    if entry.event == "request.taken" and "call" in data:
        return _("Used by %(call)s") % {"call": visible(str(data["call"]))}
    if entry.event == "tool.result" and (
        state := STATE_LABELS.get(str(data.get("state")))
    ):
        return _("Result: %(state)s") % {"state": state}
    return label


def _verdict_of(entry: AuditEntry, data: Mapping[str, Any], kind: str) -> str:
    """Return the label of an entry's verdict, or an empty text."""
    if entry.verdict not in Verdict.values:
        return ""
    return verdict_label(
        entry.verdict,
        kind if kind in Kind.values else Kind.APPROVAL,
        break_glass=data.get("break_glass"),
    )


def _values(
    entry: AuditEntry,
    data: Mapping[str, Any],
    amount: str,
    request: ApprovalRequest | None,
    settings: ToolSettings | None,
) -> list[tuple[str, str]]:
    """Return the main values: of the requested, approved or executed input; else those of the event."""
    if entry.event == "request.secret_shown":
        return _values_of_event(data)
    if entry.event.startswith("grant."):
        return _values_of_grant(data)
    if entry.event.startswith("request.") or entry.event == "tool.result":
        schema = read_schema(request.described) if request is not None else None
        value = _input_of(data, request)
        key_fields = () if settings is None else settings.key_fields
        sent = key_values(value, key_fields, entry.tool_name)
        shown = (
            key_values(value, key_fields, entry.tool_name, schema) if schema else sent
        )
    else:
        sent = shown = _values_of_event(data)
    pointer = (request.amount_pointer if request else None) or DEFAULT
    return [*_amount_among(sent, amount, pointer), *shown][:MAX_VALUES]


def _values_of_grant(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the coverage and uses of a grant, and when it ends or why it has ended."""
    if "grant_id" not in data:
        return []
    width = WIDTH_OF.get(str(data.get("covers")), Width.INPUT)
    used = data.get("used")
    uses = data.get("uses")
    values = [
        (_("covers"), str(width.label)),
        (_("used"), f"{used} / {uses}" if uses else str(used)),
    ]
    if why := data.get("why"):
        return [
            *values,
            (
                _("ended"),
                str(GrantEnd(why).label) if why in GrantEnd.values else short(why),
            ),
        ]
    until = parse_datetime(str(data.get("until") or ""))
    return [*values, *([(_("until"), clock_time(until))] if until else [])]


def _values_of_event(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    simple = [
        (name, value)
        for name, value in data.items()
        if value and isinstance(value, str | int) and name not in NOTES
    ]
    return [
        (name.replace("_", " "), _time_of(value) or short(value))
        for name, value in simple[:MAX_VALUES]
    ]


def _time_of(value: str | int) -> str:
    """Return a time value for display, or an empty text."""
    try:
        moment = parse_datetime(value) if isinstance(value, str) else None
    except ValueError:
        return ""
    return (
        clock_time(moment) if moment is not None and moment.tzinfo is not None else ""
    )


def _amount_among(
    values: Sequence[tuple[str, str]], amount: str, pointer: str
) -> list[tuple[str, str]]:
    """Return the amount used by the filter, unless it is among the first values, perhaps with its currency."""
    name = visible_name(pointer_parts(pointer)[-1])
    shown = values[:MAX_VALUES]
    numbers = (text for _name, text in shown if DECIMAL.fullmatch(text))
    if (
        not amount
        or any(label == name for label, _text in shown)
        or any(float(text) == float(amount) for text in numbers)
    ):
        return []
    return [(_("amount"), amount)]


def _input_of(data: Mapping[str, Any], request: ApprovalRequest | None) -> Any:
    """Return the input of an entry: as edited, as executed, or as requested."""
    if data.get("edited_input") is not None:
        return data["edited_input"]
    # The body has sorted names and rewritten numbers, so an equal input of the request is shown instead.
    if (
        request is not None
        and data.get("input_digest", request.input_digest) == request.input_digest
    ):
        return (
            masked_input(request, json.loads(request.short_input))
            if request.short_input
            else None
        )
    return data.get("input")


def _note(data: Mapping[str, Any]) -> str:
    """Return a person's text, or a call's error; its beginning if it is long."""
    text = next((data[name] for name in NOTES if data.get(name)), "")
    text = " ".join(text.split()) if isinstance(text, str) else ""
    beginning = visible(text[:MAX_NOTE])
    return f"{beginning}…" if len(text) > MAX_NOTE else beginning
