"""Read the facts that the outcome of an ask depends on, into one frozen value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import BigIntegerField, Exists, QuerySet, Subquery
from django.utils import timezone

from approvals.access import permissions
from approvals.access.standing import standing_of
from approvals.actions.policy.asks import AskingRules, AskPolicyFacts, AskTerms
from approvals.actions.policy.scope_index import NOWHERE, Place, place_of
from approvals.asking.asks import URGENCY, Ask, most_urgent
from approvals.asking.digests import fingerprints, grant_targets, text_of
from approvals.asking.origins import Identity
from approvals.asking.secrets import secrets_in_schema
from approvals.db.fields import CanonicalNameField
from approvals.db.prepared import Parameter, Prepared
from approvals.models import (
    ApprovalRequest,
    AskAlways,
    Grant,
    PolicyVersion,
    ToolSettings,
    Workflow,
)
from approvals.models.actors import Actor, KeyActor, person_behind
from approvals.models.policy.rules import VersionState
from approvals.models.policy.scopes import stamp_of_scopes
from approvals.policy.match import Facts, server_of
from approvals.policy.rules import PolicyVerdict, evaluate
from approvals.queries.policy.deciders import deciders_among
from approvals.queries.policy.grants.grant_sql import covering_grants
from approvals.queries.policy.rules.facts import requester_of, rule_facts
from approvals.queries.policy.rules.policy_versions import rules_of
from approvals.queries.policy.rules.repeats import earlier_rejection
from approvals.states import Status
from approvals.text.names import fold


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDraft:
    """A request before it is stored: the values of its row, except its end and its digest.

    `assignee` is the named user; None also if there is no such user. `text` is the text of its input with its files, and
    `fingerprints` identify equal ones.
    """

    identity: Identity
    ask: Ask
    assignee: User | None
    workflow: Workflow
    requester: User
    key_made_by_id: int | None
    on_behalf_of: str
    terms: AskTerms
    secrets: Sequence[str]
    text: bytes
    fingerprints: Sequence[str]
    created_at: datetime
    place: Place

    @property
    def scope_facts(self) -> Facts:
        """The facts that scopes match."""
        return Facts(
            agent=self.workflow.agent,
            tool=self.ask.tool_name,
            kind=self.ask.kind,
            source=self.workflow.source,
            server=server_of(self.ask.tool_name),
            requester=self.requester.pk,
            on_behalf_of=self.on_behalf_of,
            priority=self.terms.priority,
            input=self.ask.input,
        )

    def row(
        self, status: Status = Status.PENDING, *, repeats: UUID | None = None
    ) -> ApprovalRequest:
        """Return it as a row that is not stored yet; `repeats` is the earlier request whose rejection answers it."""
        ask = self.ask
        terms = self.terms
        return ApprovalRequest(
            **asdict(self.identity),
            workflow=self.workflow,
            scope=self.workflow.scope,
            agent=self.workflow.agent,
            step_path=list(ask.step_path),
            kind=ask.kind,
            title=ask.stored_title,
            message=ask.message,
            tool_name=ask.tool_name,
            canonical_tool=fold(ask.tool_name),
            tool_call_id=ask.tool_call_id,
            attempt=ask.attempt,
            input=dict(ask.input),
            input_fingerprint=self.fingerprints[0],
            amount_pointer=terms.amount_pointer,
            amount=terms.amount,
            scope_set_id=self.place.scope_set,
            scoped_upto=self.place.upto,
            control=terms.control,
            terms=terms.document,
            policy_version=terms.policy_version,
            rule=terms.rule,
            other_rules=terms.other_rules,
            asked_priority=terms.asked_priority,
            repeats=repeats,
            response_schema=ask.response_schema,
            options=[dict(option) for option in ask.options],
            multiple=ask.multiple,
            allow_text=ask.allow_text,
            field_name=ask.field_name,
            suggestions=list(ask.suggestions),
            context=ask.context,
            attachments=[file.stored for file in ask.files] or None,
            said_before=[dict(message) for message in ask.said_before],
            priority=terms.priority,
            urgency=URGENCY[terms.priority],
            deadline_at=terms.deadline_at,
            has_default=terms.has_default,
            default_response=terms.default_response,
            source_url=ask.source_url,
            callback_url=ask.callback_url,
            callback=None if ask.callback is None else dict(ask.callback),
            trace=None if ask.trace is None else dict(ask.trace),
            requested_by=self.requester,
            key_made_by_id=self.key_made_by_id,
            on_behalf_of=self.on_behalf_of,
            assigned_to=self.assignee,
            status=status,
            created_at=self.created_at,
            changed_at=self.created_at,
            secrets=list(self.secrets) or None,
            words=ask.words,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AskFacts:
    """The facts that the outcome of an ask depends on.

    `draft` is the request as it would be stored; `assignable`: it may be assigned to the person it names. `alone`: the
    transaction stores no other request.
    """

    draft: RequestDraft
    policy: AskPolicyFacts
    workflow_ended: bool
    assignable: bool
    asked_by: Actor
    alone: bool


def read_facts(
    workflow: Workflow,
    ask: Ask,
    identity: Identity,
    *,
    by: Actor,
    key_made_by_id: int | None,
    alone: bool,
) -> AskFacts:
    """Read the facts of an ask in its locked workflow.

    One statement finds out which things exist: rules, grants, scopes, tool settings. Nothing else is read about the others. The
    only row that this may write is a scope set, which is a value: the ids of scopes that match together for the first time.
    """
    requester = person_behind(by)
    settings = rules_for_asking(ask.tool_name, requester.pk)
    ask = replace(ask, priority=most_urgent(ask.priority, settings.min_priority))
    text = text_of(ask.input, ask.files)
    known_by = fingerprints(text)
    bearer = by.bearer if isinstance(by, KeyActor) else None
    on_behalf_of = bearer.on_behalf_of if bearer else ""
    policy = _policy_facts(
        workflow,
        ask,
        settings,
        known_by,
        requester=requester,
        on_behalf_of=on_behalf_of,
        at=timezone.now(),
    )
    draft = RequestDraft(
        identity=identity,
        ask=ask,
        assignee=ask.assigned_to if isinstance(ask.assigned_to, User) else None,
        workflow=workflow,
        requester=requester,
        key_made_by_id=by.key.maker_id if isinstance(by, KeyActor) else key_made_by_id,
        on_behalf_of=on_behalf_of,
        terms=policy.terms,
        secrets=[*secrets_in_schema(ask.response_schema), *settings.secret_fields],
        text=text,
        fingerprints=known_by,
        created_at=policy.at,
        place=NOWHERE,
    )
    if settings.scopes is not None:
        draft = replace(draft, place=place_of(draft.scope_facts, settings.scopes))
    if policy.grants and (draft.place.upto is not None or draft.terms.control):
        # Only scopes, and the tool's control, can keep a giver from deciding it.
        givers = {grant.given_by_id for grant in policy.grants}
        policy = replace(policy, deciders=deciders_among(draft.row(), givers))
    return AskFacts(
        draft=draft,
        policy=policy,
        workflow_ended=workflow.ended,
        assignable=_is_assignable(draft),
        asked_by=by,
        alone=alone,
    )


def verdict_on(
    ask: Ask,
    settings: AskingRules,
    workflow: Workflow,
    *,
    requester: User,
    on_behalf_of: str,
    at: datetime,
) -> PolicyVerdict:
    """Return the live policy's verdict on an ask."""
    assert settings.policy_version is not None
    facts = rule_facts(
        agent=workflow.agent,
        tool=ask.tool_name,
        kind=ask.kind,
        source=workflow.source,
        requester=requester.pk,
        on_behalf_of=on_behalf_of,
        priority=ask.priority,
        value=ask.input,
        context=ask.context,
        at=at,
        who=lambda: requester_of(requester),
        has_files=bool(ask.attachments),
        # As for grants: while everything has to be asked, and after the deadline, nothing is allowed.
        may_allow=not settings.asks_always
        and (ask.deadline_at is None or ask.deadline_at > at),
    )
    return evaluate(rules_of(settings.policy_version, settings.policy_digest), facts)


def _policy_facts(
    workflow: Workflow,
    ask: Ask,
    settings: AskingRules,
    known_by: Sequence[str],
    *,
    requester: User,
    on_behalf_of: str,
    at: datetime,
) -> AskPolicyFacts:
    """Read the facts for the policy; an earlier rejection, and grants, only where they could count."""
    facts = AskPolicyFacts(ask=ask, at=at, settings=settings)
    if settings.policy_version is not None:
        policy = rules_of(settings.policy_version, settings.policy_digest)
        verdict = verdict_on(
            ask,
            settings,
            workflow,
            requester=requester,
            on_behalf_of=on_behalf_of,
            at=at,
        )
        facts = replace(facts, policy=policy, verdict=verdict)
    if facts.may_repeat:
        earlier = earlier_rejection(
            known_by,
            requester=requester.pk,
            tool=ask.tool_name,
            agent=workflow.agent,
            now=at,
        )
        facts = replace(facts, earlier=earlier)
    if facts.may_be_granted:
        targets = grant_targets(
            ask.input, known_by, settings.key_fields, has_files=bool(ask.attachments)
        )
        grants = covering_grants(
            workflow, requester=requester.pk, tool=ask.tool_name, targets=targets
        )
        facts = replace(facts, grants=grants)
    return facts


def _is_assignable(draft: RequestDraft) -> bool:
    """Return whether the ask may be assigned to the person it names."""
    named = draft.ask.assigned_to
    if named is None:
        return True
    return permissions.may_be_assigned(standing_of(named), draft.row())


def _rules() -> QuerySet[User, tuple[Any, ...]]:
    tool = Parameter("tool", CanonicalNameField())
    requester = Parameter("requester", BigIntegerField())
    settings = ToolSettings.objects.filter(tool_name=tool)
    grants = Grant.objects.filter(
        requested_by_id=requester, canonical_tool=tool, ended_at=None
    )
    live = PolicyVersion.objects.filter(state=VersionState.LIVE)
    # Based on the user, so that there is one row even if the tool has no settings.
    chosen = [
        Subquery(settings.values(name))
        for name in ("min_priority", "key_fields", "secret_fields", "control")
    ]
    policy = [Subquery(live.values(name)) for name in ("number", "digest")]
    always = Exists(AskAlways.objects.all())
    return User.objects.filter(pk=requester).values_list(
        *chosen, Exists(grants), *policy, always, stamp_of_scopes()
    )


#: Settings for a new request of a tool.
_RULES = Prepared(_rules)


def rules_for_asking(tool_name: str, requester_id: int) -> AskingRules:
    """Return the settings for a new request of a tool by this user."""
    row = _RULES.first(tool=tool_name, requester=requester_id)
    if row is None:
        return AskingRules()
    (
        priority,
        key_fields,
        secret_fields,
        control,
        granted,
        version,
        digest,
        always,
        scopes,
    ) = row
    return AskingRules(
        min_priority=priority or "",
        key_fields=key_fields or (),
        secret_fields=secret_fields or (),
        control=control or "",
        granted=granted,
        policy_version=version,
        policy_digest=digest or "",
        asks_always=always,
        scopes=scopes,
    )
