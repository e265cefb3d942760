"""The state of the connection to Slack in words, with what to do."""

from __future__ import annotations

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.models import ChannelConnection

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
#: What the codes of Slack mean for an administrator.
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
