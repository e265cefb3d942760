"""The page that builds one rule of a draft: its form, its sentence, and what it would have done."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext as _

from approvals.administration.forms import REFUSED
from approvals.administration.rules.forms import PREFIX, PolicyRuleForm, data_of
from approvals.administration.rules.queries import (
    PolicyDraft,
    draft_of,
    rows_with_warnings,
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
from approvals.policy.words import requests_in_words
from approvals.queries.policy.rules.policy_versions import names_of
from approvals.queries.policy.rules.replay import replay
from approvals.text.names import fold

#: The latest requests to which the rule is applied while it is written, and the cases listed.
TRIED = 1_000
CASES = 5
DAYS = 30
#: Stands for the name of a rule that has none yet.
UNNAMED = "…"
#: A rule of another shape raises one of these.
SHAPES = (AttributeError, KeyError, TypeError, ValueError)
STEPS = ("new", "edit", "more", "less", "say", "store")


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft as the form of a rule changes it: its rules, the place of this one, and whether it is added there."""

    draft: PolicyDraft
    rules: list[Any]
    place: int
    is_new: bool

    @property
    def before(self) -> Mapping[str, Any] | None:
        return None if self.is_new else self.rules[self.place]

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
        rest = self.place if self.is_new else self.place + 1
        rules = [*self.rules[: self.place], rule, *self.rules[rest:]]
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


def place_in(text: str) -> int | None:
    """Return the place of a rule in the detail of a step or in a field; None for anything else."""
    return int(text) if text.isdecimal() and len(text) < 4 else None


def place_of_new(data: Mapping[str, Any], last: int) -> int:
    """Return the chosen place of a new rule, which is otherwise the last."""
    place = place_in(str(data.get("position", "")))
    return last if place is None else min(place, last)


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
    edited = _edited(request, draft, rules, step)
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
        "place": "" if edited.is_new else edited.place,
        "position": edited.place,
        "rules": rules if edited.is_new and not draft.faults else (),
        **carried,
        "starters": templates if edited.before is None else (),
        "fields": _known_fields(request, data),
        "live": _live(request, edited, data),
    }
    refused = request.method == "POST" and (action == "store" or draft.faults)
    return render(
        request,
        "approvals/administration/rules/rule.html",
        context,
        status=REFUSED if refused else 200,
    )


def _edited(
    request: SignedIn, draft: PolicyDraft, rules: list[Any], step: tuple[str, str]
) -> Draft:
    """Return the draft with the rule that a step is about: one of its rules, or a new one."""
    action, detail = step
    named = detail if action in {"edit", "store"} else request.POST.get("place", "")
    place = place_in(named)
    if place is None or place >= len(rules):
        position = place_of_new(request.POST, len(rules))
        return Draft(draft, rules, position, is_new=True)
    return Draft(draft, rules, place, is_new=False)


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
        named[f"{PREFIX}-name"] = UNNAMED
    form = PolicyRuleForm(named)
    candidate = edited.with_rule_of(form)
    if candidate is None or candidate.stored is None or candidate.policy is None:
        return {"wrong": form.first_error}
    row = rows_with_warnings(candidate.stored)[edited.place]
    done = replay(
        candidate.policy,
        request.standing,
        days=DAYS,
        most=TRIED,
        figure=f"{edited.place}:{row.rule.then}",
    )
    return {
        "row": row,
        "unnamed": UNNAMED,
        "title": _("Rule %(number)s: %(requests)s")
        % {
            "number": edited.place + 1,
            "requests": requests_in_words(row.rule.match, names_of(candidate.stored)),
        },
        "done": done,
        "count": done.rules[row.rule.name],
        "cases": done.listed[:CASES],
    }
