"""The draft of the policy that a person works on: where it begins, how it is kept, and the steps that move its rules."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _

from approvals.administration.rules.actions import discard_draft, save_draft
from approvals.administration.rules.builder import place_in, place_of_new, rules_in
from approvals.administration.rules.queries import (
    PolicyDraft,
    draft_of,
    saved_draft_of,
)
from approvals.http import SignedIn
from approvals.models import PolicyVersion
from approvals.policy.policy_text import write_text
from approvals.queries.policy.rules import policy_versions
from approvals.text.text import visible


def begun(
    request: SignedIn, live: PolicyVersion | None
) -> tuple[PolicyDraft, dict[str, Any]]:
    """Return the person's draft, or a new one from the live or a chosen version, with what its page keeps for it."""
    saved = saved_draft_of(request.user)
    if saved is not None and "version" not in request.GET:
        carried = {"based_on": saved.based_on or "", "continues": str(saved.pk)}
        return draft_of(saved.text), carried
    base = _chosen(request, live)
    carried = {"based_on": "" if live is None else live.number, "continues": ""}
    return draft_of(text_of(base)), carried


def text_of(version: PolicyVersion | None) -> str:
    document = policy_versions.EMPTY if version is None else version.document
    return write_text(policy_versions.written(document))


def keep(
    request: SignedIn,
    draft: PolicyDraft,
    context: dict[str, Any],
    live: PolicyVersion | None,
) -> None:
    """Save a draft that changes the live policy, and note in `context` which draft its page continues."""
    if draft.document is None or write_text(draft.document) != text_of(live):
        context["continues"] = save_draft(
            draft.text,
            based_on=version_in(str(context["based_on"])),
            continues=str(context["continues"]),
            by=request.user,
        )
    elif context["continues"]:
        discard_draft(by=request.user)
        context["continues"] = ""


def version_in(text: str) -> int | None:
    """Return the number of a version in a field; None for anything else."""
    return int(text) if text.isdecimal() and len(text) < 9 else None


def _chosen(request: SignedIn, live: PolicyVersion | None) -> PolicyVersion | None:
    """Return the version that the draft is based on."""
    number = version_in(request.GET.get("version", ""))
    return live if number is None else policy_versions.find_version(number)


def moved(draft: PolicyDraft, action: str, detail: str) -> PolicyDraft:
    """Return the draft with a rule moved or removed."""
    rules = rules_in(draft)
    place = place_in(detail)
    if draft.document is None or not rules or place is None or place >= len(rules):
        return draft
    others = [*rules[:place], *rules[place + 1 :]]
    if action != "remove":
        others.insert(max(0, place - 1) if action == "up" else place + 1, rules[place])
    return draft_of(write_text({**draft.document, "rules": others}))


def focus_after(
    request: SignedIn, draft: PolicyDraft, action: str, detail: str
) -> dict[str, Any]:
    """Return where the focus is after a step that moves, removes or stores a rule, and what has happened."""
    rules = rules_in(draft) or []
    last = len(rules) - 1
    if action not in {"up", "down", "remove", "store"} or draft.faults or not rules:
        return {}
    place = place_in(detail)
    if place is None:
        place = place_of_new(request.POST, last) if action == "store" else 0
    place += {"up": -1, "down": 1}.get(action, 0)
    place = max(0, min(place, last))
    button = action if action in {"up", "down"} else "edit"
    if place in {0, last} and button != "edit":
        # The first rule cannot be moved up, nor the last one down.
        button = "up" if place else "down"
    words = {
        "name": visible(rules[place]["name"]),
        "number": place + 1,
        "all": len(rules),
    }
    text = (
        _("Rule removed.")
        if action == "remove"
        else _("“%(name)s” is now rule %(number)s of %(all)s in the draft.") % words
    )
    return {"focus": {"place": place, "button": button, "text": text}}
