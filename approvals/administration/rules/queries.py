"""The policy and its drafts in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from approvals.models import PolicyVersion
from approvals.policy.policies import InvalidPolicy, policy_of, stored_form
from approvals.policy.policy_text import line_of, place_of, read_text
from approvals.policy.rules import NO_POLICY, Policy, Rule
from approvals.policy.words import otherwise_in_words, rule_in_words
from approvals.queries.policy.rules.policy_versions import directory_of, names_of
from approvals.queries.policy.rules.replay import Worry
from approvals.text.translation import translated

#: Why someone should look at the cases of a replay.
WORRIES = {
    Worry.ALLOWED_REJECTED: _("Would have been allowed, but a person rejected it"),
    Worry.ALLOWED_CHANGED: _(
        "Would have been allowed as it was asked, but a person changed it"
    ),
    Worry.ALLOWED_REFUSED_BY_KEY: _(
        "Would have been allowed as it was asked, but a program rejected or changed it with an API key"
    ),
    Worry.DENIED_APPROVED: _("Would have been denied, but was approved"),
    Worry.ASKED_AGAIN: _("Would have been asked, but was decided without a person"),
}


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule in words: its effect and its way of asking."""

    rule: Rule
    words: str
    asking: Sequence[str]


@dataclass(frozen=True, slots=True)
class Fault:
    line: int
    path: str
    message: str

    @property
    def rule(self) -> str:
        """The place of the rule that it is in; empty outside of the rules."""
        path = self.path.split(".")
        return path[1] if path[0] == "rules" and len(path) > 1 else ""


@dataclass(frozen=True, slots=True)
class PolicyDraft:
    """The text of a proposed policy, with its stored form or its faults."""

    text: str
    document: Mapping[str, Any] | None
    stored: Mapping[str, Any] | None
    faults: Sequence[Fault] = ()

    @property
    def policy(self) -> Policy | None:
        return None if self.stored is None else policy_of(self.stored)


def draft_of(text: str) -> PolicyDraft:
    """Return the draft in an untrusted text."""
    document = None
    try:
        document = read_text(text)
        return PolicyDraft(
            text, document, stored_form(document, directory_of(document))
        )
    except InvalidPolicy as error:
        faults = [
            Fault(
                line_of(text, path) if document is not None else place_of(fault),
                path,
                translated(fault),
            )
            for path, fault in error.faults.items()
        ]
        return PolicyDraft(
            text, document if isinstance(document, dict) else None, None, faults
        )


def rows_of(version: PolicyVersion | None) -> list[RuleRow]:
    """Return the rules of a version in words; empty without a version."""
    return [] if version is None else rows_of_document(version.document)


def rows_of_document(stored: Mapping[str, Any]) -> list[RuleRow]:
    names = names_of(stored)
    return [
        RuleRow(rule, *_split(rule_in_words(rule, names)))
        for rule in policy_of(stored).rules
    ]


def _split(sentences: Sequence[str]) -> tuple[str, Sequence[str]]:
    return sentences[0], sentences[1:]


def otherwise_of(stored: Mapping[str, Any] | None) -> list[str]:
    """Return the settings of a stored policy outside its rules, in words."""
    return otherwise_in_words(NO_POLICY if stored is None else policy_of(stored))
