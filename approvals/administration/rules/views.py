"""Administration of the policy. A replay shows the effect of a change before it is applied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from approvals.access.administrators import needs_second
from approvals.actions import policy as actions
from approvals.actions.changes import Kind
from approvals.administration.changes.queries import pending_changes
from approvals.administration.forms import REFUSED
from approvals.administration.guards import administrators_only
from approvals.administration.rules.actions import discard_draft
from approvals.administration.rules.builder import STEPS, build
from approvals.administration.rules.drafts import (
    begun,
    focus_after,
    keep,
    moved,
    text_of,
    version_in,
)
from approvals.administration.rules.queries import (
    WORRIES,
    PolicyDraft,
    RuleRow,
    draft_of,
    otherwise_of,
    rows_of,
    rows_of_document,
    rows_of_draft,
    saved_draft_of,
)
from approvals.db.canonical_json import digest
from approvals.exceptions import Refusal
from approvals.http import SignedIn, require_safe_or_POST
from approvals.models import PolicyVersion
from approvals.models.policy.rules import VersionState
from approvals.policy.loosening import policy_loosens
from approvals.policy.policies import MAX_BYTES, policy_of
from approvals.policy.policy_text import difference, write_text
from approvals.policy.rules import MAX_RULES, NO_POLICY
from approvals.queries.insights.values import duration
from approvals.queries.policy.rules import policy_versions
from approvals.queries.policy.rules.replay import MAX_DAYS, Replay, Worry, replay
from approvals.queries.policy.rules.suggestions import (
    Suggestion,
    decisions_behind,
    suggestions_for,
)
from approvals.states import Door

DAYS = 30
#: Versions listed on the policy page.
LISTED = 20
#: Maximum length of a tool name.
MAX_TOOL = 100
#: The states of versions whose rules are shown with warnings.
IN_FORCE = frozenset({VersionState.PROPOSED, VersionState.LIVE})
#: Members of the document with one switch each.
SWITCHES = ("four_eyes", "repeat_rejections")


@administrators_only
@require_safe
def policy(request: SignedIn) -> HttpResponse:
    """The live rules, proposals, the person's draft, and earlier versions."""
    live = policy_versions.live_version()
    versions = policy_versions.versions().defer("document")
    context = {
        "here": "policy",
        "live": live,
        "rows": rows_of(live),
        "otherwise": otherwise_of(live.document if live is not None else None),
        "proposals": list(versions.filter(state=VersionState.PROPOSED)),
        "versions": versions[:LISTED],
        "suggestions": _suggestions(request, live),
        "saved": saved_draft_of(request.user),
    }
    return render(request, "approvals/administration/rules/policy.html", context)


@administrators_only
@require_safe
def suggestion_cases(request: SignedIn) -> HttpResponse:
    """The decisions behind the suggestion for a tool: all, or with `?for=yes` only those in its favor."""
    tool = request.GET.get("tool", "").replace("\0", "")[:MAX_TOOL]
    only_for = request.GET.get("for") == "yes"
    shown, total = decisions_behind(request.standing, tool, only_for=only_for)
    context = {
        "here": "policy",
        "tool": tool,
        "only_for": only_for,
        "rows": [(each, "") for each in shown],
        "total": total,
    }
    return render(
        request, "approvals/administration/rules/suggestion_cases.html", context
    )


@administrators_only
@require_safe_or_POST
def change(request: SignedIn) -> HttpResponse:
    """The draft of a version: its rules in order, a form for one of them, the JSON document, and a replay."""
    live = policy_versions.live_version()
    if request.method != "POST":
        draft, context = begun(request, live)
        built = (
            build(request, draft, ("new", ""), context)
            if "add" in request.GET
            else draft
        )
        if isinstance(built, HttpResponse):
            return built
        return _page(request, built, context, live)
    draft = draft_of(request.POST.get("document", ""))
    context = {
        name: request.POST.get(name, "") for name in ("based_on", "reason", "continues")
    }
    action, _separator, detail = request.POST.get("step", "").partition(":")
    if action == "discard":
        discard_draft(by=request.user)
        if context["continues"]:
            messages.success(request, _("Draft discarded."))
            return redirect("approvals:policy")
    if action in STEPS:
        if action in {"new", "edit"}:
            keep(request, draft, context, live)
        built = build(request, draft, (action, detail), context)
        if isinstance(built, HttpResponse):
            return built
        draft = built
    elif action in {"remove", "up", "down"}:
        draft = moved(draft, action, detail)
    elif action in SWITCHES and draft.document is not None:
        rest = {name: value for name, value in draft.document.items() if name != action}
        draft = draft_of(
            write_text({action: not draft.document.get(action, False)} | rest)
        )
    elif draft.policy is not None and action in {"preview", "apply", "cases"}:
        previewed = digest(draft.stored, max_bytes=2 * MAX_BYTES)
        if action == "apply" and request.POST.get("previewed") == previewed:
            applied = _apply(request, draft, context)
            if applied is not None:
                return applied
        figure = detail if action == "cases" else ""
        context |= {
            "previewed": previewed,
            "replay": _replayed(request, draft, figure, live),
        }
    keep(request, draft, context, live)
    context |= focus_after(request, draft, action, detail)
    return _page(request, draft, context, live)


@administrators_only
@require_safe
def version(request: SignedIn, number: int) -> HttpResponse:
    """One version: its rules, and the difference to the previous version."""
    shown = policy_versions.find_version(number)
    before = (
        PolicyVersion.objects.filter(number=shown.based_on).first()
        if shown.based_on
        else None
    )
    text = text_of(shown)
    context = {
        "here": "policy",
        "version": shown,
        "rows": rows_of(shown)
        if shown.state in IN_FORCE
        else rows_of_document(shown.document),
        "difference": [(line[:1], line) for line in difference(text_of(before), text)],
        "text": text,
        "otherwise": otherwise_of(shown.document),
        "waiting": pending_changes(
            request.user, kinds=[Kind.POLICY], subject=str(number)
        ),
    }
    return render(request, "approvals/administration/rules/version.html", context)


def _waits(request: SignedIn, draft: PolicyDraft, live: PolicyVersion | None) -> bool:
    """Return whether this draft needs another administrator."""
    if draft.stored is None or not needs_second(request.standing):
        return False
    return policy_loosens(
        policy_versions.EMPTY if live is None else live.document, draft.stored
    )


def _switches(document: Mapping[str, Any] | None) -> dict[str, bool]:
    return {
        name: document is not None and bool(document.get(name)) for name in SWITCHES
    }


def _suggestions(
    request: SignedIn, live: PolicyVersion | None
) -> list[tuple[Suggestion, RuleRow, str]]:
    """Return suggestions from people's decisions, each in words and as a draft that appends it to the rules."""
    document = policy_versions.written(
        policy_versions.EMPTY if live is None else live.document
    )
    rules = document.get("rules", [])
    taken = [rule["name"] for rule in rules]
    suggestions = (
        suggestions_for(request.standing, taken) if len(rules) < MAX_RULES else []
    )
    rows = rows_of_document({"rules": [dict(each.rule) for each in suggestions]})
    texts = [
        write_text(document | {"rules": [*rules, dict(each.rule)]})
        for each in suggestions
    ]
    return list(zip(suggestions, rows, texts, strict=True))


def _page(
    request: SignedIn,
    draft: PolicyDraft,
    context: dict[str, Any],
    live: PolicyVersion | None,
) -> HttpResponse:
    defaults: dict[str, Any] = {
        "here": "policy",
        "draft": draft,
        "rows": [] if draft.stored is None else rows_of_draft(draft.stored, live),
        "live": live,
        "saved": saved_draft_of(request.user),
        "outdated": live is not None and str(live.number) != str(context["based_on"]),
        "switches": _switches(draft.document),
        "otherwise": otherwise_of(draft.stored),
        "days": _days(request),
        "waits": _waits(request, draft, live),
    }
    context = defaults | context
    refused = draft.faults or context.get("refusal")
    status = REFUSED if request.method == "POST" and refused else 200
    return render(
        request, "approvals/administration/rules/change.html", context, status=status
    )


def _apply(
    request: SignedIn, draft: PolicyDraft, context: dict[str, Any]
) -> HttpResponse | None:
    """Write the version; if it is refused, return None with the refusal in `context`."""
    try:
        written = actions.write_policy(
            draft.document,
            based_on=version_in(str(context["based_on"])),
            reason=str(context["reason"]),
            by=request.user,
            via=Door.DASHBOARD,
        )
    except Refusal as error:
        context["refusal"] = str(error)
        return None
    discard_draft(by=request.user)
    text = (
        _("Version %(number)s is live. It applies to new requests.")
        if written.live
        else _(
            "Version %(number)s is proposed. Another administrator has to confirm it."
        )
    )
    messages.success(request, text % {"number": written.number})
    return redirect("approvals:policy")


def _days(request: SignedIn) -> int:
    days = request.POST.get("days", "")
    return (
        min(max(1, int(days)), MAX_DAYS) if days.isdecimal() and len(days) < 4 else DAYS
    )


def _replayed(
    request: SignedIn, draft: PolicyDraft, figure: str, live: PolicyVersion | None
) -> dict[str, Any]:
    """Return the replay of a draft for the page, with the cases behind the selected figure."""
    assert draft.policy is not None
    done = replay(
        draft.policy,
        request.standing,
        days=_days(request),
        figure=figure,
        before=NO_POLICY if live is None else policy_of(live.document),
    )
    counts = [
        count for name, count in done.rules.items() if name is not None or count.total
    ]
    return {
        "done": done,
        "worries": [
            (WORRIES[worry], done.worries[worry], done.cases[worry])
            for worry in Worry
            if done.worries[worry]
        ],
        "counts": counts,
        "unclear": any(count.unclear for count in counts),
        "net": _net(done),
        "saved": duration(done.saved.seconds),
        "added": duration(done.added.seconds),
        "waited": duration(done.waited),
    }


def _net(done: Replay) -> str:
    """Return a sentence on how much more or less time people would have needed; empty if no decision would have changed."""
    if not (done.saved.requests or done.added.requests):
        return ""
    time = {"time": duration(abs(done.net))}
    if done.net < 0:
        return _("People would have needed %(time)s more in all.") % time
    return _("People would have needed %(time)s less in all.") % time
