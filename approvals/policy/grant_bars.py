"""Why no grant approves a call: what the kind, the rules or the terms of a request require."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from approvals.policy.rules import AskedBecause, PolicyVerdict, Then
from approvals.policy.terms import NO_TERMS, MessageRule, Terms
from approvals.states import Kind, Priority
from approvals.text.translatable import Sentence, gettext_noop


class Bar(StrEnum):
    """Reasons why no grant approves a call."""

    KIND = "kind"
    CRITICAL = "critical"
    NO_TOOL = "no_tool"
    DENIED = "denied"
    ALLOWED = "allowed"
    FILES = "files"
    UNCERTAIN = "uncertain"
    STOPPED = "stopped"
    PEOPLE = "people"
    #: The person giving the grant runs the agent, or may not decide such calls.
    FOUR_EYES = "four_eyes"
    NO_RIGHT = "no_right"


#: Messages for grants that cannot be given.
PROBLEMS: Mapping[Bar, Sentence] = {
    Bar.KIND: Sentence(
        gettext_noop(
            "is only possible for approvals: a question, form or recovery needs a person"
        ),
    ),
    Bar.CRITICAL: Sentence(
        gettext_noop(
            "is not possible for a critical request, which needs a person each time"
        )
    ),
    Bar.NO_TOOL: Sentence(gettext_noop("is not possible for a request without a tool")),
    Bar.DENIED: Sentence(
        gettext_noop("is not possible: the policy rule “%(rule)s” denies such calls")
    ),
    Bar.ALLOWED: Sentence(
        gettext_noop("is not needed: the policy rule “%(rule)s” allows such calls")
    ),
    Bar.FILES: Sentence(
        gettext_noop(
            "is not possible: the policy rule “%(rule)s” asks people about each call with files"
        )
    ),
    Bar.UNCERTAIN: Sentence(
        gettext_noop(
            "is not possible: it is not certain which policy rule matches, so people decide each such call"
        )
    ),
    Bar.STOPPED: Sentence(
        gettext_noop("is not possible: “Ask about everything” is on")
    ),
    Bar.PEOPLE: Sentence(
        gettext_noop("is not possible: people must decide each of these requests")
    ),
    Bar.FOUR_EYES: Sentence(
        gettext_noop(
            "is not possible: the two-person rule applies to such calls, and you are the requester"
        )
    ),
    Bar.NO_RIGHT: Sentence(
        gettext_noop("is not possible: you may not decide such calls now")
    ),
}


def bar_of(
    kind: str,
    priority: str,
    tool: str,
    *,
    verdict: PolicyVerdict | None = None,
    terms: Terms = NO_TERMS,
) -> Bar | None:
    """Return why no grant can approve a call; None if one can.

    Used wherever a grant is given, used, offered or listed. `verdict` is the policy's verdict on the call, None if unknown.
    `terms` are those of a pending request.
    """
    if kind != Kind.APPROVAL:
        return Bar.KIND
    if priority == Priority.CRITICAL:
        return Bar.CRITICAL
    if not tool:
        return Bar.NO_TOOL
    bar = None if verdict is None else _bar_of_rule(verdict)
    if bar is None and _names_people(terms):
        return Bar.PEOPLE
    return bar


def _bar_of_rule(verdict: PolicyVerdict) -> Bar | None:
    if verdict.then == Then.DENY:
        return Bar.DENIED
    if verdict.then == Then.ALLOW:
        return Bar.ALLOWED
    if verdict.why is not None:
        return _BARS[verdict.why]
    return Bar.PEOPLE if _names_people(verdict.asking.terms) else None


_BARS: Mapping[AskedBecause, Bar] = {
    AskedBecause.CONDITION: Bar.UNCERTAIN,
    AskedBecause.CRITICAL: Bar.CRITICAL,
    AskedBecause.FILES: Bar.FILES,
    AskedBecause.STOPPED: Bar.STOPPED,
}


def _names_people(terms: Terms) -> bool:
    """Return whether terms specify how people decide, which a grant would bypass."""
    return bool(
        terms.stages
        or terms.veto
        or terms.typed_name
        or terms.fresh_sign_in
        or terms.reason == MessageRule.ALWAYS
    )
