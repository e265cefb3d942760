"""The policy: its versions, what they name, and its rules as they are evaluated."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import Group, User
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access.permissions import may_administer, reads_record
from approvals.access.standing import Standing
from approvals.db.many import any_of
from approvals.exceptions import NotAllowed, NotFound
from approvals.models import ApprovalRequest, PolicyVersion, Role, ToolSettings
from approvals.models.people import RoleName
from approvals.models.policy.rules import VersionState
from approvals.policy.match import Facts, Match, server_of
from approvals.policy.policies import Directory, ids_in, names_in, policy_of, written_form
from approvals.policy.rules import NO_POLICY, Policy, Requester, Rule, RuleFacts, Then, Verdict, evaluate
from approvals.policy.words import Names, whole_rule_in_words
from approvals.states import Control, Kind, Status

#: What a new policy begins with.
EMPTY: Mapping[str, Any] = {"rules": []}
#: Whether a request has files, as a column.
HAS_FILES = ExpressionWrapper(Q(attachments__isnull=False), output_field=BooleanField())


def may_read_policy(viewer: Standing) -> bool:
    """Return whether this person may read the rules and what they would say: administrators, and who reads the audit log."""
    return may_administer(viewer) or reads_record(viewer)


def require_reader(viewer: Standing) -> None:
    """Raise NotAllowed for who may not read the policy."""
    if not may_read_policy(viewer):
        raise NotAllowed(_("Only administrators and auditors can read the policy."))


def live_version() -> PolicyVersion | None:
    """Return the version of the policy that is live; None before the first."""
    return PolicyVersion.objects.filter(state=VersionState.LIVE).first()


def versions() -> QuerySet[PolicyVersion]:
    """Return all versions, the newest first."""
    return PolicyVersion.objects.order_by("-number")


def find_version(number: int) -> PolicyVersion:
    """Return a version. NotFound."""
    version = PolicyVersion.objects.filter(number=number).first()
    if version is None:
        raise NotFound(_("There is no such version of the policy."))
    return version


def teams_in_force() -> frozenset[int]:
    """Return the teams that the live policy names, and those under which requests wait."""
    return frozenset().union(*(ids_in(document).teams for document in _documents_in_force()))


def policy_reads_teams() -> bool:
    """Return whether a rule in force has a condition about the requester, and so about their teams."""
    rules = (rule for document in _documents_in_force() for rule in policy_of(document).rules)
    return any(rule.when is not None and rule.when.reads_requester for rule in rules)


def _documents_in_force() -> QuerySet[PolicyVersion, Any]:
    waiting = ApprovalRequest.objects.filter(status=Status.PENDING, policy_version__isnull=False)
    in_force = Q(state=VersionState.LIVE) | Q(number__in=waiting.values("policy_version"))
    return PolicyVersion.objects.filter(in_force).values_list("document", flat=True)


def directory_of(document: Any) -> Directory:
    """Return the ids of who a document of anyone names; who is missing there does not exist, or is inactive."""
    named = names_in(document)
    people = User.objects.filter(username__in=any_of(named.people, str), is_active=True) if named.people else ()
    teams = Group.objects.filter(role=None, name__in=any_of(named.teams, str)) if named.teams else ()
    return Directory(
        people={person.get_username(): person.pk for person in people},
        teams={team.name: team.pk for team in teams},
        roles=_roles(),
    )


def written(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored policy as people write it, with the names that hold now."""
    ids = ids_in(stored)
    people = User.objects.filter(pk__in=any_of(ids.people, int)) if ids.people else ()
    teams = Group.objects.filter(role=None, pk__in=any_of(ids.teams, int)) if ids.teams else ()
    directory = Directory(
        people={person.get_username(): person.pk for person in people},
        teams={team.name: team.pk for team in teams},
        roles=_roles(),
    )
    return written_form(stored, directory)


def names_of(stored: Mapping[str, Any]) -> Names:
    """Return the names of whom a stored policy names."""
    ids = ids_in(stored)
    people = User.objects.filter(pk__in=any_of(ids.people, int)).values_list("pk", "username") if ids.people else ()
    teams = Group.objects.filter(pk__in=any_of(ids.teams, int)) if ids.teams else Group.objects.none()
    groups = {
        pk: name if role is None else _("the role %(name)s") % {"name": RoleName(role).label}
        for pk, name, role in teams.values_list("pk", "name", "role__name")
    }
    return Names(people=dict(people), groups=groups)


def rules_in_words(stored: Mapping[str, Any]) -> list[tuple[Rule, list[str]]]:
    """Return the rules of a stored policy, each with everything that it says, in sentences."""
    names = names_of(stored)
    return [(rule, whole_rule_in_words(rule, names)) for rule in policy_of(stored).rules]


@dataclass(frozen=True, slots=True)
class RulesInWords:
    """Rules of the live policy, each with what it says in sentences, and the number of its version; 0 without a policy."""

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
    """Return the live rules that need the approval of a person, or of a team or role of theirs."""
    groups = set(person.groups.values_list("pk", flat=True))

    def names(rule: Rule) -> bool:
        stages = () if rule.ask is None else rule.ask.terms.stages
        return any(person.pk in group.people or groups & {*group.teams} for stage in stages for group in stage.groups)

    return _live_rules_in_words(names)


def _live_rules_in_words(wanted: Callable[[Rule], bool]) -> RulesInWords:
    live = live_version()
    if live is None:
        return RulesInWords()
    shown = [(rule, words) for rule, words in rules_in_words(live.document) if wanted(rule)]
    return RulesInWords(live.number, shown)


def _roles() -> dict[str, int]:
    return dict(Role.objects.values_list("name", "group_id"))


def live_rules() -> Policy:
    """Return the rules that are live, in one statement once this process has compiled them."""
    live = PolicyVersion.objects.filter(state=VersionState.LIVE).values_list("number", "digest").first()
    return NO_POLICY if live is None else rules_of(*live)


@functools.lru_cache(maxsize=20)
def rules_of(number: int, digest: str) -> Policy:
    """Return the rules of a version, compiled once in each process. Its digest makes sure that it is that version."""
    return policy_of(PolicyVersion.objects.values_list("document", flat=True).get(number=number, digest=digest))


def rules_asked_under(request: ApprovalRequest) -> Sequence[Rule]:
    """Return the rules on whose terms a request was asked; none without one."""
    return rules_of_requests([request]).get(request.pk, ())


def rules_of_requests(requests: Iterable[ApprovalRequest]) -> dict[UUID, Sequence[Rule]]:
    """Return the rules on whose terms requests were asked, by request id, in one statement; in none if there are no rules."""
    names = {
        request.pk: (request.policy_version, [request.rule, *(request.other_rules or ())])
        for request in requests
        if request.policy_version is not None and request.rule
    }
    numbers = {number for number, _names in names.values()}
    if not numbers:
        return {}
    rows = PolicyVersion.objects.filter(number__in=any_of(numbers, int)).values_list("number", "digest")
    compiled = {number: rules_of(number, digest) for number, digest in rows}
    rules = {pk: map(compiled[number].rule, of_request) for pk, (number, of_request) in names.items()}
    return {pk: [rule for rule in of_request if rule is not None] for pk, of_request in rules.items()}


def settings_under(rules: Iterable[Rule], settings: ToolSettings | None) -> ToolSettings | None:
    """Return the settings of a tool with the key fields of rules in place of its own, if the rules have any."""
    key_fields = [pointer for rule in rules if rule.ask is not None for pointer in rule.ask.key_fields]
    if not key_fields:
        return settings
    under = ToolSettings() if settings is None else copy(settings)
    under.key_fields = list(dict.fromkeys(key_fields))
    return under


def reader_of_requesters(people: Collection[int] | None = None) -> Callable[[int], Requester]:
    """Return what gives who asks by id, for conditions: it reads these people, or everyone, when a rule first needs one."""
    known: dict[int, Requester] = {}

    def read(pk: int) -> Requester:
        if not known:
            known.update(_requesters(people))
        return known.get(pk) or Requester("")

    return read


def _requesters(people: Collection[int] | None) -> dict[int, Requester]:
    """Return these people, or everyone, with their teams and roles; in two statements."""
    users, members = User.objects.all(), Group.objects.order_by("name").exclude(user=None)
    if people is not None:
        users = users.filter(pk__in=any_of(people, int))
        members = members.filter(user__in=any_of(people, int))
    teams: dict[int, list[str]] = {}
    roles: dict[int, list[str]] = {}
    for user, name, role in members.values_list("user", "name", "role__name"):
        (teams if role is None else roles).setdefault(user, []).append(name if role is None else role)
    names = users.values_list("pk", "username")
    return {pk: Requester(name, teams.get(pk, ()), roles.get(pk, ())) for pk, name in names}


def requester_of(user: User) -> Requester:
    """Return who asks, for conditions."""
    groups = list(Group.objects.filter(user=user.pk).order_by("name").values_list("name", "role__name"))
    return Requester(
        name=user.get_username(),
        teams=[name for name, role in groups if role is None],
        roles=[role for _name, role in groups if role is not None],
    )


def in_installation(moment: datetime) -> datetime:
    """Return a moment in the time zone of the installation, by which rules count hours and days."""
    return timezone.localtime(moment, timezone.get_default_timezone())


def problem_of_change(request: ApprovalRequest, value: Mapping[str, Any]) -> str:
    """Return why a request may not be approved with this changed input; empty if it may.

    It is decided on the terms of the rules that it was asked under. So the policy of then must say the same of the changed
    input, or some of it, or allow it: else one person could approve what the policy leaves to others, or denies.
    """
    if request.policy_version is None:
        return ""
    version = find_version(request.policy_version)
    verdict = evaluate(rules_of(version.number, version.digest), _facts_of(request, value))
    rule = verdict.rule.name if verdict.rule is not None else None
    if verdict.then == Then.ALLOW or (verdict.then == Then.ASK and _asks_no_more(verdict, request)):
        return ""
    again = _("Reject the request, so that the agent can ask again.")
    if rule is None:
        words = _("With these changes, the rule “%(name)s” of the policy does not apply, under which this was asked.")
        return f"{words % {'name': request.rule}} {again}"
    if verdict.then == Then.DENY:
        return _("With these changes, the rule “%(name)s” of the policy denies this.") % {"name": rule}
    words = _("With these changes, the rule “%(name)s” of the policy applies, which says itself who decides.")
    return f"{words % {'name': rule}} {again}"


def _asks_no_more(verdict: Verdict, request: ApprovalRequest) -> bool:
    """Return whether a request was asked on the terms of all rules that would ask about its changed input."""
    if verdict.rule is None:
        return request.rule is None
    names = {request.rule, *(request.other_rules or ())}
    stricter = verdict.control == Control.FOUR_EYES and request.control != Control.FOUR_EYES
    return not stricter and {rule.name for rule in verdict.rules} <= names


def _facts_of(request: ApprovalRequest, value: Mapping[str, Any]) -> RuleFacts:
    """Return what rules are evaluated over for another input, and else as it was when the request was asked."""
    return rule_facts(
        agent=request.agent,
        tool=request.tool_name,
        kind=request.kind,
        source=request.workflow.source,
        requester=request.requested_by_id,
        priority=request.asked_priority or request.priority,
        value=value,
        context=request.context,
        at=request.created_at,
        who=lambda: requester_of(request.requested_by),
        has_files=bool(request.attachments),
    )


def rule_facts(
    *,
    agent: str,
    tool: str,
    kind: str,
    source: str,
    requester: int,
    priority: str,
    value: Mapping[str, Any],
    context: Any,
    at: datetime,
    who: Callable[[], Requester],
    has_files: bool = False,
    may_allow: bool = True,
) -> RuleFacts:
    """Return what rules are evaluated over.

    `value` is the input, `priority` the one before any rule raises it, and `at` when it is asked.
    """
    match = Facts(
        agent=agent,
        tool=tool,
        kind=kind,
        source=source,
        server=server_of(tool),
        requester=requester,
        priority=priority,
        input=value,
    )
    return RuleFacts(
        match=match,
        at=in_installation(at),
        requester=who,
        context=context,
        has_files=has_files,
        may_allow=may_allow,
    )
