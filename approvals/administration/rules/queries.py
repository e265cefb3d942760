"""The policy and its drafts in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import User
from django.utils.translation import gettext_lazy as _

from approvals.administration.rules.warnings import warnings_of
from approvals.models import PolicyVersion, SavedDraft
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
    """A rule in words: its effect and its way of asking, with warnings about it."""

    rule: Rule
    words: str
    asking: Sequence[str]
    warnings: Sequence[str] = ()


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


def saved_draft_of(person: User) -> SavedDraft | None:
    return SavedDraft.objects.filter(person=person).first()


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
    """Return the rules of a version in words, with warnings; empty without a version."""
    return (
        []
        if version is None
        else rows_with_warnings(version.document, are_live=version.live)
    )


def rows_with_warnings(
    stored: Mapping[str, Any], *, are_live: bool = False
) -> list[RuleRow]:
    rows = rows_of_document(stored)
    rules = [row.rule for row in rows]
    warnings = warnings_of(rules, names_of(stored), are_live=are_live)
    return [
        replace(row, warnings=of_rule)
        for row, of_rule in zip(rows, warnings, strict=True)
    ]


def rows_of_draft(
    stored: Mapping[str, Any], live: PolicyVersion | None
) -> list[RuleRow]:
    """Return the rules of a draft in words, with those warnings that the live version does not have."""
    before = [] if live is None else rows_with_warnings(live.document)
    known = {(row.rule.name, text) for row in before for text in row.warnings}
    return [
        replace(
            row,
            warnings=[
                text for text in row.warnings if (row.rule.name, text) not in known
            ],
        )
        for row in rows_with_warnings(stored)
    ]


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
