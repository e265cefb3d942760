"""The page that builds one rule of a draft: its form, its sentence, and what it would have done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import render

from approvals.administration.forms import REFUSED
from approvals.administration.rules.forms import PREFIX, PolicyRuleForm, data_of
from approvals.administration.rules.queries import (
    PolicyDraft,
    draft_of,
    rows_of_document,
)
from approvals.administration.rules.rows import indexes
from approvals.administration.rules.starters import starters
from approvals.administration.rules.texts import shown_pointer
from approvals.administration.tools.forms import pointers
from approvals.administration.tools.queries import latest_of_tool
from approvals.asking.secrets import masked_input
from approvals.http import SignedIn
from approvals.policy.policy_text import write_text
from approvals.policy.rules import MAX_NAME, MAX_RULES, Then
from approvals.queries.policy.rules.replay import replay
from approvals.text.names import fold

#: The latest requests to which the rule is applied while it is written, and the cases listed.
TRIED = 1_000
CASES = 5
DAYS = 30
#: A rule of another shape raises one of these.
SHAPES = (AttributeError, KeyError, TypeError, ValueError)
STEPS = ("new", "edit", "more", "less", "say", "store")


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft as the form of a rule changes it: its rules, and the place of this one (a new one comes last)."""

    draft: PolicyDraft
    rules: list[Any]
    place: int

    @property
    def before(self) -> Mapping[str, Any] | None:
        return self.rules[self.place] if self.place < len(self.rules) else None

    def with_rule_of(self, form: PolicyRuleForm) -> PolicyDraft | None:
        """Return the draft with the rule of a form; None, with the faults in the form, if they do not go together."""
        assert self.draft.document is not None
        if not form.is_valid():
            return None
        try:
            rule = form.rule(self.before)
        except SHAPES:
            # The rule before has faults of its own, which the page shows.
            return None
        if json.dumps(rule) == json.dumps(self.before):
            return self.draft
        rules = [*self.rules[: self.place], rule, *self.rules[self.place + 1 :]]
        changed = draft_of(write_text({**self.draft.document, "rules": rules}))
        known = {fault.path for fault in self.draft.faults}
        faults = {
            fault.path: fault.message
            for fault in changed.faults
            if fault.path.startswith(f"rules.{self.place}.") or fault.path not in known
        }
        form.add_faults(faults, self.place)
        return None if faults else changed


def rules_in(draft: PolicyDraft) -> list[Any] | None:
    """Return the rules of a draft; None if they are no list of objects."""
    rules = (draft.document or {}).get("rules", [])
    is_list = isinstance(rules, list) and len(rules) <= MAX_RULES
    return rules if is_list and all(isinstance(rule, dict) for rule in rules) else None


def build(
    request: SignedIn,
    draft: PolicyDraft,
    step: tuple[str, str],
    carried: Mapping[str, Any],
) -> PolicyDraft | HttpResponse:
    """Return the page on which a rule is built, or the draft with the finished rule.

    `step` is an action with its detail, and `carried` what the page keeps for the draft.
    """
    action, detail = step
    rules = rules_in(draft)
    if draft.document is None or rules is None:
        return draft
    named = detail if action in {"edit", "store"} else request.POST.get("place", "")
    place = int(named) if named.isdecimal() and len(named) < 4 else len(rules)
    edited = Draft(draft, rules, min(place, len(rules)))
    data: Any = request.POST
    templates = starters() if action == "new" or edited.before is None else []
    match action:
        case "new":
            chosen = [
                rule for number, rule in enumerate(templates) if str(number) == detail
            ]
            data = data_of(chosen[0] if chosen else {"then": Then.ASK})
        case "edit":
            if edited.before is None:
                return draft
            try:
                data = data_of(edited.before)
            except SHAPES:
                return draft
        case "more" | "less":
            data = _with_rows(data, action, detail)
    form = PolicyRuleForm(data, checked=action == "store")
    if action == "store":
        stored = edited.with_rule_of(form)
        if stored is not None:
            return stored
        form.focus()
    rows = form.rows.get(detail.removeprefix(f"{PREFIX}-").partition("-")[0])
    if rows and action in {"more", "less"}:
        form.focus(rows[-1])
    context = {
        "here": "policy",
        "draft": draft,
        "form": form,
        "place": "" if edited.before is None else edited.place,
        **carried,
        "starters": templates if edited.before is None else (),
        "fields": _known_fields(request, data),
        "live": _live(request, edited, data),
    }
    refused = action == "store" or draft.faults
    return render(
        request,
        "approvals/administration/rules/rule.html",
        context,
        status=REFUSED if refused else 200,
    )


def _with_rows(data: QueryDict, action: str, detail: str) -> QueryDict:
    """Return posted data with one more row of a kind, or without the row of this prefix."""
    changed = data.copy()
    if action == "more":
        number = max(indexes(data, detail), default=0) + 1
        changed[f"{PREFIX}-{detail}-{number}-new"] = ""
        return changed
    for key in data:
        if key.startswith(f"{detail}-"):
            del changed[key]
    return changed


def _known_fields(request: SignedIn, data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the fields of the tools' latest inputs, each with its value there."""
    fields: dict[str, str] = {}
    for number in indexes(data, "tools")[:CASES]:
        name = str(data.get(f"{PREFIX}-tools-{number}-name", ""))[:MAX_NAME].replace(
            "\0", ""
        )
        latest = latest_of_tool(request.standing, fold(name)) if name else None
        if latest is not None:
            fields |= dict(pointers(masked_input(latest, latest.input)))
    return [(shown_pointer(pointer), value) for pointer, value in fields.items()]


def _live(request: SignedIn, edited: Draft, data: Any) -> dict[str, Any]:
    """Return the rule in words and what it would have done, or what is wrong with it."""
    named = data.copy()
    if not named.get(f"{PREFIX}-name"):
        named[f"{PREFIX}-name"] = "…"
    form = PolicyRuleForm(named)
    candidate = edited.with_rule_of(form)
    if candidate is None or candidate.stored is None or candidate.policy is None:
        return {"wrong": form.first_error}
    [row] = rows_of_document({"rules": [candidate.stored["rules"][edited.place]]})
    figure = f"{edited.place}:{row.rule.then}"
    done = replay(
        candidate.policy, request.standing, days=DAYS, most=TRIED, figure=figure
    )
    return {
        "row": row,
        "done": done,
        "count": done.rules[row.rule.name],
        "cases": done.listed[:CASES],
    }
