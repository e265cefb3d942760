"""The state of the connection to Slack in words, with what to do."""

from __future__ import annotations

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.models import ChannelConnection
from approvals.models.channels import SocketState

_TOKEN_ENDED = gettext_lazy(
    "The bot token no longer works. Reinstall the app in Slack, and connect again with its new token."
)
_APP_REMOVED = gettext_lazy(
    "The app was removed from the workspace. Install it again, and connect with its new token."
)
_GRID = gettext_lazy(
    "This is an organization-wide installation (Enterprise Grid). Install the app in one workspace instead."
)
_ARCHIVED = gettext_lazy("The channel is archived. Choose another one.")
#: The codes of Slack in words for an administrator.
WORDS = {
    "invalid_auth": _TOKEN_ENDED,
    "not_authed": _TOKEN_ENDED,
    "token_revoked": _TOKEN_ENDED,
    "token_expired": _TOKEN_ENDED,
    "account_inactive": _APP_REMOVED,
    "app_uninstalled": _APP_REMOVED,
    "enterprise_is_restricted": _GRID,
    "org_login_required": _GRID,
    "team_access_not_granted": _GRID,
    "missing_scope": gettext_lazy(
        "The app lacks a permission. Update it with the manifest below, and reinstall it."
    ),
    "channel_not_found": gettext_lazy(
        "The channel does not exist, or is private and the app is not in it. Check its ID, and invite the app."
    ),
    "not_in_channel": gettext_lazy(
        "The app is not in the channel. Invite it there with /invite @Pausepoint."
    ),
    "is_archived": _ARCHIVED,
    "is_inactive": _ARCHIVED,
    "ratelimited": gettext_lazy("Slack slows the app down. Cards come later."),
    "unreachable": gettext_lazy(
        "Slack could not be reached. Check the network of this server."
    ),
    "secret_key_changed": gettext_lazy(
        "SECRET_KEY has changed, so the tokens cannot be read. Connect again."
    ),
    "other_team": gettext_lazy("The token belongs to another workspace."),
    "not_a_bot": gettext_lazy("This is not the token of a bot."),
}


def words_of(code: str) -> str:
    """Return a problem in words, with Slack's code if it is an unusual one."""
    known = WORDS.get(code)
    if known is not None:
        return str(known)
    return _("Slack refused a call: %(code)s.") % {"code": code}


def state_of(connection: ChannelConnection) -> str:
    """Return the state of the connection in words."""
    if not connection.problem:
        return _("Connected")
    words = words_of(connection.problem)
    if connection.problem_in:
        return f"{words} ({connection.problem_in})"
    return words


_APP_TOKEN_ENDED = gettext_lazy(
    "The app token no longer works. Create a new one in Slack, and connect again with it."
)
_SOCKET_OFF = gettext_lazy(
    "Socket Mode is off in the settings of the app. Switch it on in Slack."
)
#: Of the connection over which Slack brings clicks.
SOCKET_WORDS = {
    "invalid_auth": _APP_TOKEN_ENDED,
    "not_authed": _APP_TOKEN_ENDED,
    "token_revoked": _APP_TOKEN_ENDED,
    "link_disabled": _SOCKET_OFF,
    "not_allowed_token_type": gettext_lazy(
        "Slack refuses the app token. It needs the scope connections:write, and Socket Mode must be on."
    ),
    "too_many_websockets": gettext_lazy(
        "The app has too many connections. Is another program using its app token?"
    ),
    "missing_scope": gettext_lazy("The app token needs the scope connections:write."),
}


def socket_state_of(connection: ChannelConnection) -> str:
    """Return the state of the outgoing connection in words; empty without Socket Mode."""
    if connection.socket_state == SocketState.OFF:
        return ""
    held = connection.socket_until is not None and (
        connection.socket_until > timezone.now()
    )
    if held and connection.socket_state == SocketState.CONNECTED:
        return _("Slack brings clicks over Socket Mode.")
    problem = connection.socket_problem
    if not problem:
        return _("Socket Mode is not connected yet. A server tries every second.")
    words = SOCKET_WORDS.get(problem)
    return str(words) if words is not None else words_of(problem)
