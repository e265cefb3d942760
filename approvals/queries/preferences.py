"""What a person has chosen for themselves, and what administrators have chosen for tools."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import BigAutoField, BigIntegerField, Exists, QuerySet, Subquery, Value

from approvals.access.standing import NOBODY, Standing, standing_with, with_standing
from approvals.db.canonical_name import CanonicalNameField
from approvals.db.many import any_of
from approvals.db.prepared import Parameter, Prepared
from approvals.models import (
    ApprovalRequest,
    AskAlways,
    CheckSettings,
    Grant,
    PolicyVersion,
    Preferences,
    PrioritySettings,
    SeededCheck,
    ToolSettings,
)
from approvals.models.policy.rules import VersionState
from approvals.models.policy.scopes import stamp_of_scopes
from approvals.states import Kind
from approvals.text.canonical_names import fold


def preferences_of(user: User | AnonymousUser) -> Preferences:
    """Return a person's preferences; the defaults if they have chosen none or are not logged in."""
    preferences = Preferences.objects.filter(person=user.pk).first() if user.pk else None
    return preferences or Preferences(person_id=user.pk or 0)


@dataclass(frozen=True, slots=True)
class PageState:
    """What every page needs of its reader and of the installation: who has switched *Ask about everything* on, and when."""

    standing: Standing
    preferences: Preferences
    asking_since: datetime | None
    asking_by: str | None
    #: Whether a seeded check waits for them.
    checked: bool = False


def _reader() -> QuerySet[User, User]:
    reader, switch = Parameter("reader", BigAutoField()), AskAlways.objects.all()
    check = SeededCheck.objects.filter(Exists(CheckSettings.objects.all()), person=reader, decided_at=None)
    # Of the user, so that there is one row, whether or not they have chosen anything.
    rows = (
        User.objects.filter(pk=reader)
        .select_related("preferences")
        .annotate(asking_since=Subquery(switch.values("since")), asking_by=Subquery(switch.values("by_name")))
        .annotate(checked=Exists(check))
    )
    return with_standing(rows.only("pk", "preferences"), reader)


_READER = Prepared(_reader)


def page_state(user: User) -> PageState:
    """Return what every page of a person needs, in one statement."""
    row: Any = _READER.first(reader=user.pk)
    if row is None:
        return PageState(NOBODY, Preferences(person_id=user.pk), None, None)
    preferences = getattr(row, "preferences", None) or Preferences(person_id=user.pk)
    return PageState(standing_with(row, user.pk), preferences, row.asking_since, row.asking_by, row.checked)


@dataclass(frozen=True, slots=True)
class AskingRules:
    """What holds for a new request of a tool: its least priority, empty if it is up to who asks; its key and secret fields;
    who decides it (`states.Control`); whether the user who asks has any grant for it; the version of the policy that is
    live, with its digest, null without any; whether *Ask about everything* is on; and the stamp of the scopes
    (`models.policy.scopes.stamp_of_scopes`), null without any.
    """

    min_priority: str = ""
    key_fields: Sequence[str] = ()
    secret_fields: Sequence[str] = ()
    control: str = ""
    granted: bool = False
    policy_version: int | None = None
    policy_digest: str = ""
    asks_always: bool = False
    scopes: str | None = None


def _rules() -> QuerySet[User, tuple[Any, ...]]:
    tool, requester = Parameter("tool", CanonicalNameField()), Parameter("requester", BigIntegerField())
    settings = ToolSettings.objects.filter(tool_name=tool)
    grants = Grant.objects.filter(requested_by_id=requester, canonical_tool=tool, ended_at=None)
    live = PolicyVersion.objects.filter(state=VersionState.LIVE)
    # Of the user, so that there is one row, whether or not the tool has settings.
    chosen = [Subquery(settings.values(name)) for name in ("min_priority", "key_fields", "secret_fields", "control")]
    policy = [Subquery(live.values(name)) for name in ("number", "digest")]
    always = Exists(AskAlways.objects.all())
    return User.objects.filter(pk=requester).values_list(*chosen, Exists(grants), *policy, always, stamp_of_scopes())


_RULES = Prepared(_rules)


def rules_for_asking(tool_name: str, requester_id: int) -> AskingRules:
    """Return what holds for a new request of a tool by this user."""
    row = _RULES.first(tool=tool_name, requester=requester_id)
    if row is None:
        return AskingRules()
    priority, key_fields, secret_fields, control, granted, version, digest, always, scopes = row
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


def settings_of_tools(names: Collection[str]) -> dict[str, ToolSettings]:
    """Return the settings of these tools by name as it is written here, in one statement; tools without any are missing."""
    canonical = {name: fold(name) for name in names if name}
    if not canonical:
        return {}
    chosen = ToolSettings.objects.filter(tool_name__in=any_of(set(canonical.values()), str))
    rows = {row.tool_name: row for row in chosen}
    return {name: rows[key] for name, key in canonical.items() if key in rows}


@dataclass(frozen=True, slots=True)
class ReasonRules:
    """The tools, by canonical name, and the priorities whose approvals can be rejected only with a message."""

    tools: Collection[str] = ()
    priorities: Collection[str] = ()

    def apply_to(self, request: ApprovalRequest) -> bool:
        """Whether a rejection of this request needs a message."""
        named = fold(request.tool_name) in self.tools or request.priority in self.priorities
        return named and request.kind == Kind.APPROVAL


def reason_rules(tool_names: Collection[str]) -> ReasonRules:
    """Return which of these tools and which priorities can be rejected only with a message, in one statement."""
    tools = ToolSettings.objects.filter(tool_name__in=any_of(set(map(fold, tool_names)), str), reason_required=True)
    wanted = tools.order_by().values_list(Value("tool"), "tool_name")
    priorities = PrioritySettings.objects.filter(reason_required=True).order_by()
    rules = list(wanted.union(priorities.values_list(Value("priority"), "priority"), all=True))
    return ReasonRules(
        {name for kind, name in rules if kind == "tool" and name}, {name for kind, name in rules if kind == "priority"}
    )


def strict_priorities() -> list[str]:
    """Return the priorities that can be rejected only with a message."""
    return list(PrioritySettings.objects.filter(reason_required=True).values_list("priority", flat=True))
