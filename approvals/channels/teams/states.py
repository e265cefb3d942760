"""The state of the connection to Microsoft Teams in words, with what to do."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.models import ChannelConnection

_SECRET_ENDED = gettext_lazy(
    "The client secret is wrong or has expired. Create a new one in the Azure portal, and connect again with it."
)
_NOT_ADDED = gettext_lazy(
    "The app is not in the team or chat. Add it there, or ask the person to add it in Teams."
)
#: The codes of Microsoft in words for an administrator.
WORDS = {
    "invalid_client": _SECRET_ENDED,
    "unauthorized_client": gettext_lazy(
        "The app ID does not exist in this tenant. Check both in the Azure portal."
    ),
    "invalid_request": gettext_lazy(
        "The tenant does not exist. Check its ID in the Azure portal."
    ),
    "BotNotInConversationRoster": _NOT_ADDED,
    "ForbiddenOperationException": _NOT_ADDED,
    "http_403": _NOT_ADDED,
    "ConversationNotFound": gettext_lazy(
        "The channel does not exist, or the app is not in its team. Check the link, and add the app."
    ),
    "ratelimited": gettext_lazy("Teams slows the app down. Cards come later."),
    "unreachable": gettext_lazy(
        "Microsoft could not be reached. Check the network of this server."
    ),
    "secret_key_changed": gettext_lazy(
        "SECRET_KEY has changed, so the client secret cannot be read. Connect again."
    ),
}


def words_of(code: str) -> str:
    """Return a problem in words, with Microsoft's code if it is an unusual one."""
    known = WORDS.get(code)
    if known is not None:
        return str(known)
    return _("Microsoft refused a call: %(code)s.") % {"code": code}


def state_of(connection: ChannelConnection) -> str:
    """Return the state of the connection in words."""
    if not connection.problem:
        return _("Connected")
    words = words_of(connection.problem)
    return f"{words} ({connection.problem_in})" if connection.problem_in else words
