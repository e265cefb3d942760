"""The policy over REST: its versions, and its verdict on a call. It is edited on its page and applied from files."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.contrib.auth.models import User
from django.utils import timezone
from django.utils.translation import gettext as _
from ninja import Router
from pydantic import BaseModel, Field

from approvals.access.callers import Caller
from approvals.actions.asks.facts import rules_for_asking
from approvals.api.bodies import Document, Moment, Name, Short, shown_with
from approvals.api.rest.operations import JsonBody, operation, problems
from approvals.asking.asks import most_urgent
from approvals.exceptions import Invalid
from approvals.json_types import JsonDict
from approvals.models import PolicyVersion
from approvals.models.policy.rules import VersionState
from approvals.policy.policies import InvalidPolicy, policy_of, stored_form
from approvals.policy.rules import WHY, AskedBecause, Then, evaluate
from approvals.queries.policy.rules.facts import requester_of, rule_facts
from approvals.queries.policy.rules.policy_versions import (
    EMPTY,
    directory_of,
    find_version,
    live_version,
    require_reader,
    rules_in_words,
    versions,
    written,
)
from approvals.states import CLIENT
from approvals.text.secrets import mask_text
from approvals.text.translation import translated

router = Router(tags=["Policy"])

MAX_VERSIONS = 200


class PolicyVersionDocument(BaseModel):
    """A version of the policy."""

    number: int
    state: VersionState
    based_on: int | None = Field(
        description="The version that was live when it was written; null for the first."
    )
    author: str
    reason: str
    created_at: Moment
    settled_at: Moment | None = Field(description="When it went live or was declined.")
    settled_by: str | None = Field(description="Who applied, confirmed or declined it.")
    replaced_at: Moment | None
    digest: str


class RuleInWords(BaseModel):
    """A rule in sentences for people."""

    name: str
    says: list[str]


class PolicyDocument(PolicyVersionDocument):
    """A version with its content, as in a policy file: people, teams and roles by name."""

    policy: JsonDict
    in_words: list[RuleInWords] = Field(
        description="Its rules in order, in the sentences that the pages show."
    )


class PolicyVersions(BaseModel):
    """Versions, the newest first."""

    items: list[PolicyVersionDocument]


class NewCall(Document):
    """A call that an agent could request."""

    model_config = shown_with(
        {"tool_name": "refund", "input": {"amount": 120}, "agent": "billing"}
    )

    tool_name: Short = ""
    """The tool that would run."""
    input: JsonDict = Field(
        default_factory=dict, description="The input that would run."
    )
    agent: Short = ""
    """The agent that would make the request."""
    kind: Literal["approval", "question", "form", "recovery"] = "approval"
    """The kind of request."""
    priority: Literal["low", "normal", "high", "critical"] = "normal"
    """The priority of the request."""
    context: Any = Field(default=None, description="The context that it would send.")
    source: Name = CLIENT
    """`api`, `mcp`, `chat`, `cedar` or `ask-human`."""
    requester: Name | None = None
    """The username of the requester; by default, yours."""
    on_behalf_of: Name = ""
    """The subject of an issuer's token."""
    at: Moment | None = None
    """The time of the request; by default, now."""
    policy: JsonDict | None = None
    """A policy to evaluate instead of the live one, as in a file."""


class Evaluation(BaseModel):
    """The verdict of the policy on a call."""

    then: Then
    rule: str | None = Field(
        description="The rule that matches, or the first that could; null if none does."
    )
    other_rules: list[str] = Field(
        description="Other rules whose terms also apply, because it is not certain which rule matches."
    )
    why: str | None = Field(
        description="Why the rule asks people although it says otherwise."
    )
    control: str | None = Field(
        description="`four_eyes` if the requester may not decide."
    )
    terms: JsonDict | None = Field(
        description="The terms on which people are asked, with ids of people and groups."
    )
    policy_version: int | None = Field(
        description="Null for a policy sent with the call, and if there is no policy."
    )


@router.get(
    "/policy",
    response=PolicyDocument,
    summary="Get the live policy",
    openapi_extra=problems(403, 404),
)
@operation("read")
def get_policy(caller: Caller) -> PolicyDocument:
    """Needs the scope `read`, and a user who may administer or read the audit log. 404 as long as there is none."""
    require_reader(caller.standing)
    live = live_version()
    return _document(find_version(0) if live is None else live)


@router.get(
    "/policy/versions",
    response=PolicyVersions,
    summary="List versions of the policy",
    openapi_extra=problems(403),
)
@operation("read")
def list_policy_versions(caller: Caller) -> PolicyVersions:
    """Needs the scope `read`, and a user who may administer or read the audit log. The latest versions, at most 200."""
    require_reader(caller.standing)
    return PolicyVersions(
        items=[
            PolicyVersionDocument(**_of(each))
            for each in versions().defer("document")[:MAX_VERSIONS]
        ]
    )


@router.get(
    "/policy/versions/{int:number}",
    response=PolicyDocument,
    summary="Get a version of the policy",
    openapi_extra=problems(403, 404),
)
@operation("read")
def get_policy_version(caller: Caller, number: int) -> PolicyDocument:
    """Needs the scope `read`, and a user who may administer or read the audit log."""
    require_reader(caller.standing)
    return _document(find_version(number))


@router.post(
    "/policy/evaluate",
    response=Evaluation,
    summary="Evaluate the policy for a call",
    openapi_extra=problems(400, 413, 415, 422),
)
@operation("read")
def evaluate_policy(
    caller: Caller, sent: Annotated[NewCall, JsonBody(...)]
) -> Evaluation:
    """Needs the scope `read`, and a user who may administer or read the audit log. Makes no request and stores nothing.
    The settings of the tool apply: they can raise the priority.
    """
    require_reader(caller.standing)
    person = caller.user if sent.requester is None else _active_person(sent.requester)
    if person is None:
        raise Invalid(
            _("The call is invalid."),
            {"requester": _("is not the username of an active person")},
        )
    live = live_version()
    stored = EMPTY if live is None else live.document
    if sent.policy is not None:
        try:
            stored = stored_form(sent.policy, directory_of(sent.policy))
        except InvalidPolicy as error:
            faults = {
                f"policy.{path}".rstrip("."): translated(fault)
                for path, fault in error.faults.items()
            }
            raise Invalid(translated(error), faults) from error
    priority = most_urgent(
        sent.priority, rules_for_asking(sent.tool_name, person.pk).min_priority
    )
    facts = rule_facts(
        agent=sent.agent,
        tool=sent.tool_name,
        kind=sent.kind,
        source=sent.source,
        requester=person.pk,
        on_behalf_of=sent.on_behalf_of,
        priority=priority,
        value=sent.input,
        context=sent.context,
        at=sent.at or timezone.now(),
        who=lambda: requester_of(person),
    )
    verdict = evaluate(policy_of(stored), facts)
    asks = verdict.then == Then.ASK
    return Evaluation(
        then=verdict.then,
        rule=verdict.rule.name if verdict.rule is not None else None,
        other_rules=[rule.name for rule in verdict.others],
        why=translated(WHY[AskedBecause(verdict.why)])
        if verdict.why is not None
        else None,
        control=verdict.control,
        terms=(verdict.asking.terms.document() or None) if asks else None,
        policy_version=live.number
        if live is not None and sent.policy is None
        else None,
    )


def _active_person(name: str) -> User | None:
    return (
        User.objects.filter(username=name, is_active=True).first()
        if "\x00" not in name
        else None
    )


def _of(version: PolicyVersion) -> JsonDict:
    return {
        "number": version.number,
        "state": VersionState(version.state),
        "based_on": version.based_on,
        "author": version.author_name,
        "reason": mask_text(version.reason),
        "created_at": version.created_at,
        "settled_at": version.settled_at,
        "settled_by": version.settled_by_name or None,
        "replaced_at": version.replaced_at,
        "digest": version.digest,
    }


def _document(version: PolicyVersion) -> PolicyDocument:
    in_words = [
        RuleInWords(name=rule.name, says=sentences)
        for rule, sentences in rules_in_words(version.document)
    ]
    return PolicyDocument(
        **_of(version), policy=written(version.document), in_words=in_words
    )
