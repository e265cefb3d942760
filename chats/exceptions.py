"""Refusals of the chats. Their `code` values are part of the API."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.exceptions import Refusal
from approvals.json_types import JsonDict
from approvals.models import ApprovalRequest


class ChatNotFound(Refusal):
    """The chat does not exist, or is hidden from the caller; the two are indistinguishable."""

    code = "not_found"
    status = 404
    sentence = gettext_lazy(
        "Chat not found. It may not exist, or you may not have access."
    )


class ChatPruned(Refusal):
    """Retention has removed the contents of the chat."""

    code = "chat_removed"
    status = 410
    sentence = gettext_lazy(
        "This conversation was removed because of its age. Start a new chat."
    )


class BadFile(Refusal):
    """A file of a message is too large, or of a type that models do not accept."""

    code = "bad_file"
    status = 400


class TurnRunning(Refusal):
    code = "turn_running"
    status = 409
    sentence = gettext_lazy(
        "The agent is still answering. Wait for it to finish, or stop it."
    )


class ApprovalPending(Refusal):
    """The chat waits for people to decide `requests`."""

    code = "approval_pending"
    status = 409

    def __init__(self, requests: Sequence[ApprovalRequest]) -> None:
        self.requests = list(requests)
        names = "; ".join(f"“{request.title}”" for request in self.requests)
        offers = any(request.options for request in self.requests)
        answer = _(
            "The agent is waiting for: %(names)s. Answer that first, or stop the turn."
        )
        choose = _(
            "The agent is waiting for: %(names)s. Choose an option on its card first, or stop the turn."
        )
        super().__init__((choose if offers else answer) % {"names": names})

    def members(self) -> JsonDict:
        names = ("kind", "title", "tool_call_id")
        requests = [
            {"id": str(request.pk)} | {name: getattr(request, name) for name in names}
            for request in self.requests
        ]
        return {"requests": requests}


class QuestionChanged(Refusal):
    """The page that sent a message named another question than the pending one, or none is pending anymore."""

    code = "question_changed"
    status = 409
    sentence = gettext_lazy(
        "The question has changed since you wrote this. Read the new question, then send it again."
    )


class BadMessage(Refusal):
    code = "bad_message"
    status = 422


class UnknownMessage(Refusal):
    """The client names a message that is not in the chat."""

    code = "unknown_message"
    status = 409
    sentence = gettext_lazy(
        "This chat has no such message. Reload the chat and try again."
    )


class HistoryDiffers(Refusal):
    """The client's copy of the chat differs from the stored one."""

    code = "history_differs"
    status = 409
    sentence = gettext_lazy(
        "Your copy of the chat differs from the stored chat. Reload the chat and try again."
    )


class MessageKnown(Refusal):
    """The chat already has a message with that id."""

    code = "message_known"
    status = 409
    sentence = gettext_lazy("This message was already sent. Reload the chat to see it.")


class Forged(Refusal):
    """The client sent data that only the server can know. Nothing in its request was accepted."""

    code = "forged"
    status = 422

    def __init__(self, message: str, tool_call_id: str) -> None:
        self.tool_call_id = tool_call_id
        super().__init__(message)

    def members(self) -> JsonDict:
        return {"tool_call_id": self.tool_call_id}


class NothingNew(Refusal):
    """The message brings no new answer."""

    code = "nothing_new"
    status = 409
    sentence = gettext_lazy("This message contains no new answer. Reload the chat.")


class BranchRefused(Refusal):
    """This checkpoint cannot be branched. The message gives the reason and an alternative."""

    code = "branch_refused"
    status = 409


class LeaseLost(Exception):
    """Another runner has the turn, or it has ended. This runner must stop writing."""


class StopRequested(Exception):
    """The turn was stopped while this runner worked on it."""
