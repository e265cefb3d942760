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
from approvals.administration.rules.builder import STEPS, build, rules_in
from approvals.administration.rules.queries import (
    WORRIES,
    PolicyDraft,
    RuleRow,
    draft_of,
    otherwise_of,
    rows_of,
    rows_of_document,
)
from approvals.db.canonical_json import digest
from approvals.exceptions import Invalid, Refusal
from approvals.http import SignedIn, require_safe_or_POST
from approvals.models import PolicyVersion
from approvals.models.policy.rules import VersionState
from approvals.policy.loosening import policy_loosens
from approvals.policy.policies import MAX_BYTES
from approvals.policy.policy_text import difference, write_text
from approvals.policy.rules import MAX_RULES
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
#: Members of the document with one switch each.
SWITCHES = ("four_eyes", "repeat_rejections")


@administrators_only
@require_safe
def policy(request: SignedIn) -> HttpResponse:
    """The live rules, proposals, and earlier versions."""
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
        base = _chosen(request, live)
        text = write_text(
            policy_versions.written(
                policy_versions.EMPTY if base is None else base.document
            )
        )
        draft = draft_of(text)
        carried = {"based_on": "" if live is None else live.number}
        built = (
            build(request, draft, ("new", ""), carried)
            if "add" in request.GET
            else draft
        )
        return (
            built if isinstance(built, HttpResponse) else _page(request, built, carried)
        )
    draft = draft_of(request.POST.get("document", ""))
    step = request.POST.get("step", "")
    context: dict[str, Any] = {
        "based_on": request.POST.get("based_on", ""),
        "reason": request.POST.get("reason", ""),
    }
    action, _separator, detail = step.partition(":")
    if action in STEPS:
        built = build(request, draft, (action, detail), context)
        if isinstance(built, HttpResponse):
            return built
        draft = built
    elif action in {"remove", "up", "down"}:
        draft = _moved(draft, action, detail)
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
        context |= {
            "previewed": previewed,
            "replay": _replayed(request, draft, detail if action == "cases" else ""),
        }
    return _page(request, draft, context)


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
    text = write_text(policy_versions.written(shown.document))
    base = write_text(
        policy_versions.written(
            policy_versions.EMPTY if before is None else before.document
        )
    )
    context = {
        "here": "policy",
        "version": shown,
        "rows": rows_of_document(shown.document),
        "difference": [(line[:1], line) for line in difference(base, text)],
        "text": text,
        "otherwise": otherwise_of(shown.document),
        "waiting": pending_changes(
            request.user, kinds=[Kind.POLICY], subject=str(number)
        ),
    }
    return render(request, "approvals/administration/rules/version.html", context)


def _waits(request: SignedIn, draft: PolicyDraft) -> bool:
    """Return whether this draft needs another administrator."""
    if draft.stored is None or not needs_second(request.standing):
        return False
    live = policy_versions.live_version()
    return policy_loosens(
        policy_versions.EMPTY if live is None else live.document, draft.stored
    )


def _switches(document: Mapping[str, Any] | None) -> dict[str, bool]:
    return {
        name: document is not None and bool(document.get(name)) for name in SWITCHES
    }


def _mixing(draft: PolicyDraft) -> list[str]:
    """Return the names of the rules that may fail because CEL does not mix whole and other numbers."""
    rules = () if draft.policy is None else draft.policy.rules
    return [
        rule.name for rule in rules if rule.when is not None and rule.when.mixes_numbers
    ]


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


def _chosen(request: SignedIn, live: PolicyVersion | None) -> PolicyVersion | None:
    """Return the version that the draft is based on."""
    number = request.GET.get("version", "")
    return (
        policy_versions.find_version(int(number))
        if number.isdecimal() and len(number) < 9
        else live
    )


def _page(
    request: SignedIn, draft: PolicyDraft, context: dict[str, Any]
) -> HttpResponse:
    defaults: dict[str, Any] = {
        "here": "policy",
        "draft": draft,
        "rows": [] if draft.stored is None else rows_of_document(draft.stored),
        "mixing": _mixing(draft),
        "switches": _switches(draft.document),
        "otherwise": otherwise_of(draft.stored),
        "days": _days(request),
        "waits": _waits(request, draft),
    }
    context = defaults | context
    refused = draft.faults or context.get("refusal")
    status = REFUSED if request.method == "POST" and refused else 200
    return render(
        request, "approvals/administration/rules/change.html", context, status=status
    )


def _moved(draft: PolicyDraft, action: str, detail: str) -> PolicyDraft:
    """Return the draft with a rule moved or removed."""
    rules = rules_in(draft)
    place = int(detail) if detail.isdecimal() and len(detail) < 4 else -1
    if draft.document is None or rules is None or not 0 <= place < len(rules):
        return draft
    others = [*rules[:place], *rules[place + 1 :]]
    if action != "remove":
        others.insert(max(0, place - 1) if action == "up" else place + 1, rules[place])
    return draft_of(write_text({**draft.document, "rules": others}))


def _apply(
    request: SignedIn, draft: PolicyDraft, context: dict[str, Any]
) -> HttpResponse | None:
    """Write the version; if it is refused, return None with the refusal in `context`."""
    based_on = str(context["based_on"])
    try:
        written = actions.write_policy(
            draft.document,
            based_on=int(based_on)
            if based_on.isdecimal() and len(based_on) < 9
            else None,
            reason=str(context["reason"]),
            by=request.user,
            via=Door.DASHBOARD,
        )
    except Invalid as error:
        context["refusal"] = str(error)
        return None
    except Refusal as error:
        context["refusal"] = str(error)
        return None
    text = (
        _("Version %(number)s is live. It applies to what is asked from now on.")
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


def _replayed(request: SignedIn, draft: PolicyDraft, figure: str) -> dict[str, Any]:
    """Return the replay of a draft for the page, with the cases behind the selected figure."""
    assert draft.policy is not None
    done = replay(draft.policy, request.standing, days=_days(request), figure=figure)
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
