"""The words of the desk: states, kinds, verdicts, and which change may follow which. Imports nothing of ours."""

from __future__ import annotations

from django.db.models import TextChoices


class Status(TextChoices):
    """Where a request stands."""

    PENDING = "pending", "Pending"
    APPROVED = "approved", "Approved"
    REJECTED = "rejected", "Rejected"
    ANSWERED = "answered", "Answered"
    CANCELLED = "cancelled", "Cancelled"
    EXPIRED = "expired", "Expired"


FINAL = frozenset(Status) - {Status.PENDING}
TRANSITIONS: dict[Status, frozenset[Status]] = {Status.PENDING: FINAL, **dict.fromkeys(FINAL, frozenset())}


class Kind(TextChoices):
    """What is asked of the person."""

    APPROVAL = "approval", "Approval"
    QUESTION = "question", "Question"
    FORM = "form", "Form"
    RECOVERY = "recovery", "Recovery"


class Verdict(TextChoices):
    """What ended a request; a person gives one of the first four."""

    APPROVE = "approve", "Approved"
    REJECT = "reject", "Rejected"
    EDIT = "edit", "Approved with changes"
    RESPOND = "respond", "Answered"
    CANCEL = "cancel", "Cancelled"
    EXPIRE = "expire", "Expired"


#: What a person may say to each kind. To a recovery, approve means "run it again", respond "it was done, with this
#: output" and reject "it failed".
VERDICTS: dict[Kind, frozenset[Verdict]] = {
    Kind.APPROVAL: frozenset({Verdict.APPROVE, Verdict.REJECT, Verdict.EDIT}),
    Kind.QUESTION: frozenset({Verdict.RESPOND, Verdict.REJECT}),
    Kind.FORM: frozenset({Verdict.RESPOND, Verdict.REJECT}),
    Kind.RECOVERY: frozenset({Verdict.APPROVE, Verdict.RESPOND, Verdict.REJECT}),
}

OUTCOMES: dict[Verdict, Status] = {
    Verdict.APPROVE: Status.APPROVED,
    Verdict.EDIT: Status.APPROVED,
    Verdict.REJECT: Status.REJECTED,
    Verdict.RESPOND: Status.ANSWERED,
    Verdict.CANCEL: Status.CANCELLED,
    Verdict.EXPIRE: Status.EXPIRED,
}

#: Other tools' words for the verdicts (LangChain, MCP, Claude), accepted on input.
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
    LOW = "low", "Low"
    NORMAL = "normal", "Normal"
    HIGH = "high", "High"
    CRITICAL = "critical", "Critical"


class WorkflowState(TextChoices):
    """A workflow is suspended while at least one of its requests is open, running between pauses, or ended."""

    RUNNING = "running", "Running"
    SUSPENDED = "suspended", "Suspended"
    COMPLETED = "completed", "Completed"
    CANCELLED = "cancelled", "Cancelled"
    FAILED = "failed", "Failed"


#: The source of a workflow that is one question in AgentForge's shape, and ends with it.
ASK_HUMAN = "ask-human"

ENDED = frozenset({WorkflowState.COMPLETED, WorkflowState.CANCELLED, WorkflowState.FAILED})


#: The `source` of a workflow that a client of the API began.
CLIENT = "api"
#: What people read for where a workflow comes from.
ORIGINS = {"chat": "a chat", "cedar": "Cedar-OS", CLIENT: "the API", ASK_HUMAN: "ask-human"}


class Door(TextChoices):
    """Through which door a decision came in."""

    DASHBOARD = "dashboard", "Dashboard"
    CHAT = "chat", "Chat page"
    REST = "rest", "API"
    AI_SDK = "ai-sdk", "AI SDK client"
    CEDAR = "cedar", "Cedar-OS front end"
    ADMIN = "admin", "Admin"
    STOP = "stop", "Stop button"
    DEADLINE = "deadline", "Deadline"
    SYSTEM = "system", "Pausepoint itself"


class Channel(TextChoices):
    """How an event of the outbox leaves."""

    HANDLER = "handler", "Function of an app"
    WEBHOOK = "webhook", "Webhook"
    #: To be spread over the people it concerns, one row each.
    NOTICE = "notice", "Notice"
    MAIL = "mail", "Mail"
    SLACK = "slack", "Slack"


class Route(TextChoices):
    """How a person is told."""

    MAIL = "mail", "Mail"
    SLACK = "slack", "Slack"


def verdict_from(word: str) -> Verdict | None:
    """The verdict behind a canonical word or an alias; None for anything else, and for what no person may say."""
    found = ALIASES.get(word) or (Verdict(word) if word in Verdict.values else None)
    return found if found in {Verdict.APPROVE, Verdict.REJECT, Verdict.EDIT, Verdict.RESPOND} else None
