"""States, kinds and verdicts, and the allowed transitions. Imports nothing of this project."""

from __future__ import annotations

from typing import Protocol

from django.db.models import IntegerChoices, TextChoices
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _


class Status(TextChoices):
    """The status of a request."""

    PENDING = "pending", _("Waiting")
    APPROVED = "approved", _("Approved")
    REJECTED = "rejected", _("Rejected")
    ANSWERED = "answered", _("Answered")
    CANCELLED = "cancelled", _("Cancelled")
    EXPIRED = "expired", _("Expired")


FINAL = frozenset(Status) - {Status.PENDING}
TRANSITIONS: dict[Status, frozenset[Status]] = {
    Status.PENDING: FINAL,
    **dict.fromkeys(FINAL, frozenset()),
}


class Kind(TextChoices):
    """The kind of a request."""

    APPROVAL = "approval", _("Approval")
    QUESTION = "question", _("Question")
    FORM = "form", _("Form")
    RECOVERY = "recovery", _("Outcome unknown")


#: Kinds that ask for an answer; the others ask for approval.
ASKS = frozenset({Kind.QUESTION, Kind.FORM})


class Verdict(TextChoices):
    """The end of a request. A person gives one of the first four, or cancels."""

    APPROVE = "approve", _("Approved")
    REJECT = "reject", _("Rejected")
    EDIT = "edit", _("Approved with changes")
    RESPOND = "respond", _("Answered")
    CANCEL = "cancel", _("Cancelled")
    EXPIRE = "expire", _("Expired")


#: The verdicts of each kind. For a recovery, approve means "run it again", respond "it succeeded, with this output" and reject
#: "it failed".
VERDICTS: dict[Kind, frozenset[Verdict]] = {
    Kind.APPROVAL: frozenset({Verdict.APPROVE, Verdict.REJECT, Verdict.EDIT}),
    Kind.QUESTION: frozenset({Verdict.RESPOND, Verdict.REJECT}),
    Kind.FORM: frozenset({Verdict.RESPOND, Verdict.REJECT}),
    Kind.RECOVERY: frozenset({Verdict.APPROVE, Verdict.RESPOND, Verdict.REJECT}),
}

#: The verdicts that let a call run.
APPROVING = frozenset({Verdict.APPROVE, Verdict.EDIT})

OUTCOMES: dict[Verdict, Status] = {
    Verdict.APPROVE: Status.APPROVED,
    Verdict.EDIT: Status.APPROVED,
    Verdict.REJECT: Status.REJECTED,
    Verdict.RESPOND: Status.ANSWERED,
    Verdict.CANCEL: Status.CANCELLED,
    Verdict.EXPIRE: Status.EXPIRED,
}

#: Labels of decided requests that match the buttons of their kind.
_LABELS = {
    (Kind.QUESTION, Status.REJECTED): _("Declined"),
    (Kind.FORM, Status.REJECTED): _("Declined"),
    (Kind.RECOVERY, Status.APPROVED): _("Run again"),
    (Kind.RECOVERY, Status.ANSWERED): _("Marked as succeeded"),
    (Kind.RECOVERY, Status.REJECTED): _("Marked as failed"),
}


def status_label(status: str, kind: str) -> str:
    """Return the label of a status for a request of this kind, such as “Declined” for a rejected question."""
    return str(_LABELS.get((Kind(kind), Status(status)), Status(status).label))


def verdict_label(verdict: str, kind: str, *, break_glass: bool | None = False) -> str:
    """Return the label of a verdict on a request of this kind, such as “Declined” for a rejected question.

    A decision with break-glass access says so.
    """
    label = _LABELS.get(
        (Kind(kind), OUTCOMES[Verdict(verdict)]), Verdict(verdict).label
    )
    if break_glass:
        return gettext("%(verdict)s with break-glass access") % {"verdict": label}
    return str(label)


class OfKind(Protocol):
    """The part of a request that its label depends on."""

    @property
    def kind(self) -> str: ...

    @property
    def status(self) -> str: ...


class Decided(Protocol):
    """The part of a decision that the label of its request depends on."""

    @property
    def verdict(self) -> str: ...

    @property
    def break_glass(self) -> bool | None: ...


def outcome_label(request: OfKind, decision: Decided | None) -> str:
    """Return the label of a request: that of its decision, which may be one with break-glass access, or of its status."""
    if not decision:
        return status_label(request.status, request.kind)
    return verdict_label(
        decision.verdict, request.kind, break_glass=decision.break_glass
    )


def via_label(via: str) -> str:
    """Return the label of a stored `via` value."""
    return str(Door(via).label) if via in Door.values else str(ORIGINS.get(via, via))


#: Other tools' names of verdicts (LangChain, MCP, Claude), accepted on input.
ALIASES: dict[str, Verdict] = {
    "accept": Verdict.APPROVE,
    "allow": Verdict.APPROVE,
    "deny": Verdict.REJECT,
    "decline": Verdict.REJECT,
    "ignore": Verdict.REJECT,
    "response": Verdict.RESPOND,
    "answer": Verdict.RESPOND,
}


class Priority(TextChoices):
    LOW = "low", _("Low")
    NORMAL = "normal", _("Normal")
    HIGH = "high", _("High")
    CRITICAL = "critical", _("Critical")


class Hint(TextChoices):
    """A program's advice on a request."""

    FINE = "looks_fine", _("Looks fine")
    CLOSER = "look_closer", _("Look closer")
    WRONG = "looks_wrong", _("Looks wrong")


class WorkflowState(TextChoices):
    """The state of a workflow: suspended while at least one of its requests is pending, otherwise running, or ended."""

    RUNNING = "running", _("Running")
    SUSPENDED = "suspended", _("Suspended")
    COMPLETED = "completed", _("Completed")
    CANCELLED = "cancelled", _("Cancelled")
    FAILED = "failed", _("Failed")


#: The `source` of a workflow that consists of one question in AgentForge's format, and ends with it.
ASK_HUMAN = "ask-human"

ENDED = frozenset(
    {WorkflowState.COMPLETED, WorkflowState.CANCELLED, WorkflowState.FAILED}
)


#: The `source` of a workflow begun by an API client.
CLIENT = "api"
#: The `source` of a workflow that consists of one request of an MCP client, and ends with it.
MCP = "mcp"
#: Sources whose programs wait for decisions themselves.
PROGRAMS = frozenset({CLIENT, ASK_HUMAN, MCP})
#: Labels of the sources.
ORIGINS = {
    "chat": _("chat"),
    "cedar": "Cedar-OS",
    CLIENT: "API",
    ASK_HUMAN: "ask-human",
    MCP: "MCP",
}


class Door(TextChoices):
    """The channel of a decision; stored as `via`."""

    DASHBOARD = "dashboard", _("web")
    CHAT = "chat", _("chat")
    REST = "rest", _("API")
    AI_SDK = "ai-sdk", _("AI SDK")
    CEDAR = "cedar", _("Cedar-OS")
    MCP = "mcp", _("MCP")
    SCIM = "scim", _("SCIM")
    SLACK = "slack", "Slack"
    TEAMS = "teams", "Microsoft Teams"
    RELAY = "relay", _("relay")
    ADMIN = "admin", _("admin")
    GRANT = "grant", _("grant")
    RULE = "rule", _("rule")
    STOP = "stop", _("Stop button")
    DEADLINE = "deadline", _("deadline")
    SYSTEM = "system", _("Pausepoint")


#: The web pages, as opposed to endpoints for programs.
OWN_PAGES = frozenset({Door.DASHBOARD, Door.CHAT})


class Width(IntegerChoices):
    """The coverage of a grant, from narrow to broad."""

    INPUT = 0, _("this exact input")
    FIELDS = 1, _("the same key fields")
    TOOL = 2, _("any input of this tool")


class Audience(TextChoices):
    """The callers that a grant is for; always only those of the user who asked."""

    AGENT = "agent", _("this agent")
    KEY = "key", _("this key")
    WORKFLOW = "workflow", _("this workflow")
    THREAD = "thread", _("this conversation")


class GrantEnd(TextChoices):
    """Why a grant has ended."""

    REVOKED = "revoked", _("revoked")
    USED_UP = "used_up", _("used up")
    EXPIRED = "expired", _("expired")
    GIVER_LEFT = "giver_left", _("the person who gave it was deactivated or removed")
    RIGHT_LOST = "right_lost", _("the person who gave it may no longer decide")
    BEYOND_LIMIT = "beyond_limit", _("the tool's settings no longer allow it")


class Channel(TextChoices):
    """The delivery channel of an outbox event."""

    HANDLER = "handler", _("App handler")
    WEBHOOK = "webhook", _("Webhook")
    #: Expanded to one row for each person concerned.
    NOTICE = "notice", _("Notification")
    MAIL = "mail", _("Email")
    SLACK = "slack", _("Slack")
    PUSH = "push", _("Push")
    #: A card with buttons in a channel in which people answer.
    CARD = "card", _("Card with buttons")
    RELAY = "relay", _("Relay")
    #: A decision for a durable engine that waits for it.
    ENGINE = "engine", _("Engine")


class EngineKind(TextChoices):
    """The kind of a durable engine, in which a workflow waits for a decision."""

    TEMPORAL = "temporal", "Temporal"
    RESTATE = "restate", "Restate"
    TRIGGER_DEV = "trigger_dev", "Trigger.dev"
    PREFECT = "prefect", "Prefect"
    OWN_HANDLER = "own_handler", _("Your own handler, such as for DBOS")


class Route(TextChoices):
    """The channel of a notification to a person."""

    MAIL = "mail", _("Email")
    SLACK = "slack", _("Slack")
    BUTTONS = "buttons", _("Slack with buttons")
    TEAMS = "teams", "Microsoft Teams"
    RELAY = "relay", _("Relay")


#: The routes whose messages are cards with buttons, and the kind of channel of each, which is also its outbox lane and its `via`.
KIND_OF_ROUTE = {Route.BUTTONS: "slack", Route.TEAMS: "teams"}


def verdict_from(word: str) -> Verdict | None:
    """Return the verdict of a name or alias; None if it is unknown, or if people cannot give it."""
    verdict = ALIASES.get(word) or (Verdict(word) if word in Verdict.values else None)
    return (
        verdict
        if verdict in {Verdict.APPROVE, Verdict.REJECT, Verdict.EDIT, Verdict.RESPOND}
        else None
    )


class Control(TextChoices):
    """Who decides the approvals of a tool; without one, anyone who may decide."""

    CONFIRM = "confirm", _("Confirm: the requester may decide too")
    FOUR_EYES = "four_eyes", _("Two-person rule: the requester may not decide")
