"""The policy: its versions, the names in it, and its compiled rules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.models import Group, User
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.utils.translation import gettext as _

from approvals.access.permissions import may_administer, reads_record
from approvals.access.standing import Standing
from approvals.db.many import any_of
from approvals.exceptions import NotAllowed, NotFound
from approvals.json_types import JsonDict, JsonMapping
from approvals.models import ApprovalRequest, PolicyVersion, Role, ToolSettings
from approvals.models.people import RoleName
from approvals.models.policy.rules import VersionState
from approvals.policy.match import Facts, Match, server_of
from approvals.policy.policies import (
    Directory,
    ids_in,
    names_in,
    policy_of,
    written_form,
)
from approvals.policy.rules import (
    NO_POLICY,
    Policy,
    PolicyVerdict,
    Rule,
    RuleFacts,
    Then,
    evaluate,
)
from approvals.policy.words import Names, whole_rule_in_words
from approvals.queries.policy.rules.facts import requester_of, rule_facts
from approvals.states import Control, Kind, Status

#: A new policy.
EMPTY: JsonMapping = {"rules": []}
#: Whether a request has files, as a column.
HAS_FILES = ExpressionWrapper(Q(attachments__isnull=False), output_field=BooleanField())


def may_read_policy(viewer: Standing) -> bool:
    """Return whether this person may read and test the rules: administrators and readers of the audit log."""
    return may_administer(viewer) or reads_record(viewer)


def require_reader(viewer: Standing) -> None:
    """Raise NotAllowed if this person may not read the policy."""
    if not may_read_policy(viewer):
        raise NotAllowed(_("Only administrators and auditors can see the policy."))


def live_version() -> PolicyVersion | None:
    """Return the live version of the policy; None before the first."""
    return PolicyVersion.objects.filter(state=VersionState.LIVE).first()


def versions() -> QuerySet[PolicyVersion]:
    """Return all versions, newest first."""
    return PolicyVersion.objects.order_by("-number")


def find_version(number: int) -> PolicyVersion:
    """Return a version. Raise NotFound."""
    version = PolicyVersion.objects.filter(number=number).first()
    if version is None:
        raise NotFound(_("This version of the policy does not exist."))
    return version


def teams_in_force() -> frozenset[int]:
    """Return the teams in the live policy, and those in the versions of pending requests."""
    return frozenset().union(
        *(ids_in(document).teams for document in _documents_in_force())
    )


def policy_reads_teams() -> bool:
    """Return whether a rule in force has a condition about the requester, and so about their teams."""
    rules = (
        rule for document in _documents_in_force() for rule in policy_of(document).rules
    )
    return any(rule.when is not None and rule.when.reads_requester for rule in rules)


def _documents_in_force() -> QuerySet[PolicyVersion, Any]:
    waiting = ApprovalRequest.objects.filter(
        status=Status.PENDING, policy_version__isnull=False
    )
    in_force = Q(state=VersionState.LIVE) | Q(
        number__in=waiting.values("policy_version")
    )
    return PolicyVersion.objects.filter(in_force).values_list("document", flat=True)


def directory_of(document: Any) -> Directory:
    """Return the ids of the names in an untrusted document; missing ones do not exist or are inactive."""
    named = names_in(document)
    people = (
        User.objects.filter(username__in=any_of(named.people, str), is_active=True)
        if named.people
        else ()
    )
    teams = (
        Group.objects.filter(role=None, name__in=any_of(named.teams, str))
        if named.teams
        else ()
    )
    return _directory(people, teams)


def _directory(people: Iterable[User], teams: Iterable[Group]) -> Directory:
    return Directory(
        people={person.get_username(): person.pk for person in people},
        teams={team.name: team.pk for team in teams},
        roles=_roles(),
    )


def written(stored: JsonMapping) -> JsonDict:
    """Return a stored policy in its written form, with current names."""
    ids = ids_in(stored)
    people = User.objects.filter(pk__in=any_of(ids.people, int)) if ids.people else ()
    teams = (
        Group.objects.filter(role=None, pk__in=any_of(ids.teams, int))
        if ids.teams
        else ()
    )
    return written_form(stored, _directory(people, teams))


def names_of(stored: JsonMapping) -> Names:
    """Return the names of the people and groups in a stored policy."""
    ids = ids_in(stored)
    people = (
        User.objects.filter(pk__in=any_of(ids.people, int)).values_list(
            "pk", "username"
        )
        if ids.people
        else ()
    )
    teams = (
        Group.objects.filter(pk__in=any_of(ids.teams, int))
        if ids.teams
        else Group.objects.none()
    )
    groups = {
        pk: name
        if role is None
        else _("the role %(name)s") % {"name": RoleName(role).label}
        for pk, name, role in teams.values_list("pk", "name", "role__name")
    }
    return Names(people=dict(people), groups=groups)


def rules_in_words(stored: JsonMapping) -> list[tuple[Rule, list[str]]]:
    """Return the rules of a stored policy, each described in sentences."""
    names = names_of(stored)
    return [
        (rule, whole_rule_in_words(rule, names)) for rule in policy_of(stored).rules
    ]


@dataclass(frozen=True, slots=True)
class RulesInWords:
    """Rules of the live policy with their descriptions, and its version number; 0 without a policy."""

    version: int = 0
    rules: Sequence[tuple[Rule, list[str]]] = ()


def rules_about_tool(tool: str) -> RulesInWords:
    """Return the live rules that could match an approval of a tool."""
    facts = Facts(tool=tool, server=server_of(tool))

    def may_match(rule: Rule) -> bool:
        match = rule.match
        about = not match.kinds or Kind.APPROVAL in match.kinds
        return about and Match(tools=match.tools, servers=match.servers).fits(facts)

    return _live_rules_in_words(may_match)


def rules_naming(person: User) -> RulesInWords:
    """Return the live rules that need the approval of a person, or of one of their teams or roles."""
    groups = set(person.groups.values_list("pk", flat=True))

    def names(rule: Rule) -> bool:
        stages = () if rule.ask is None else rule.ask.terms.stages
        return any(
            person.pk in group.people or groups & {*group.teams}
            for stage in stages
            for group in stage.groups
        )

    return _live_rules_in_words(names)


def rules_that_allow() -> list[tuple[int, Rule, list[str]]]:
    """Return the live rules that let calls run without asking, with their numbers and descriptions."""
    live = live_version()
    if live is None:
        return []
    return [
        (number, rule, words)
        for number, (rule, words) in enumerate(rules_in_words(live.document), 1)
        if rule.then == Then.ALLOW
    ]


def _live_rules_in_words(wanted: Callable[[Rule], bool]) -> RulesInWords:
    live = live_version()
    if live is None:
        return RulesInWords()
    shown = [
        (rule, words) for rule, words in rules_in_words(live.document) if wanted(rule)
    ]
    return RulesInWords(live.number, shown)


def _roles() -> dict[str, int]:
    return dict(Role.objects.values_list("name", "group_id"))


def live_rules() -> Policy:
    """Return the live rules, in one statement once this process has compiled them."""
    live = (
        PolicyVersion.objects.filter(state=VersionState.LIVE)
        .values_list("number", "digest")
        .first()
    )
    return NO_POLICY if live is None else rules_of(*live)


@functools.lru_cache(maxsize=20)
def rules_of(number: int, digest: str) -> Policy:
    """Return the rules of a version, compiled once per process. The digest verifies the version."""
    return policy_of(
        PolicyVersion.objects.values_list("document", flat=True).get(
            number=number, digest=digest
        )
    )


def rules_asked_under(request: ApprovalRequest) -> Sequence[Rule]:
    """Return the rules whose terms apply to a request; none without one."""
    return rules_of_requests([request]).get(request.pk, ())


def rules_of_requests(
    requests: Iterable[ApprovalRequest],
) -> dict[UUID, Sequence[Rule]]:
    """Return the rules whose terms apply to requests, by request id, in one statement; in none if there are no rules."""
    names = {
        request.pk: (
            request.policy_version,
            [request.rule, *(request.other_rules or ())],
        )
        for request in requests
        if request.policy_version is not None and request.rule
    }
    numbers = {number for number, _names in names.values()}
    if not numbers:
        return {}
    rows = PolicyVersion.objects.filter(number__in=any_of(numbers, int)).values_list(
        "number", "digest"
    )
    compiled = {number: rules_of(number, digest) for number, digest in rows}
    rules = {
        pk: map(compiled[number].rule, of_request)
        for pk, (number, of_request) in names.items()
    }
    return {
        pk: [rule for rule in of_request if rule is not None]
        for pk, of_request in rules.items()
    }


def key_fields_under(
    rules: Iterable[Rule], settings: ToolSettings | None
) -> Sequence[str]:
    """Return the key fields that rules choose, or else the settings of the tool."""
    key_fields = [
        pointer
        for rule in rules
        if rule.ask is not None
        for pointer in rule.ask.key_fields
    ]
    return list(dict.fromkeys(key_fields)) or (
        () if settings is None else settings.key_fields
    )


def problem_of_change(request: ApprovalRequest, value: JsonMapping) -> str:
    """Return why a request may not be approved with this changed input; empty if it may.

    It is decided on the terms of its own policy version. So that version must give the changed input the same verdict, or fewer
    of its rules, or allow it: otherwise one person could approve something that the policy leaves to others, or denies.
    """
    if request.policy_version is None:
        return ""
    version = find_version(request.policy_version)
    verdict = evaluate(
        rules_of(version.number, version.digest), _facts_of(request, value)
    )
    rule = verdict.rule.name if verdict.rule is not None else None
    if verdict.then == Then.ALLOW or (
        verdict.then == Then.ASK and _asks_no_more(verdict, request)
    ):
        return ""
    again = _("Reject the request, so that the agent can ask again.")
    if rule is None:
        words = _(
            "With these changes, the policy rule “%(name)s”, which applied to the original request, does not apply."
        )
        return f"{words % {'name': request.rule}} {again}"
    if verdict.then == Then.DENY:
        return _("With these changes, the policy rule “%(name)s” denies this.") % {
            "name": rule
        }
    words = _(
        "With these changes, the policy rule “%(name)s” applies, which needs other approvers."
    )
    return f"{words % {'name': rule}} {again}"


def _asks_no_more(verdict: PolicyVerdict, request: ApprovalRequest) -> bool:
    """Return whether all rules that would ask about the changed input already apply to the request."""
    if verdict.rule is None:
        return request.rule is None
    names = {request.rule, *(request.other_rules or ())}
    stricter = (
        verdict.control == Control.FOUR_EYES and request.control != Control.FOUR_EYES
    )
    return not stricter and {rule.name for rule in verdict.rules} <= names


def _facts_of(request: ApprovalRequest, value: JsonMapping) -> RuleFacts:
    """Return the facts for evaluating rules on a changed input, otherwise as when the request was made."""
    return rule_facts(
        agent=request.agent,
        tool=request.tool_name,
        kind=request.kind,
        source=request.workflow.source,
        requester=request.requested_by_id,
        on_behalf_of=request.on_behalf_of,
        priority=request.asked_priority or request.priority,
        value=value,
        context=request.context,
        at=request.created_at,
        who=lambda: requester_of(request.requested_by),
        has_files=bool(request.attachments),
    )
