"""The manifest of the Slack app that an administrator creates, with the address of this desk."""

from __future__ import annotations

from django.conf import settings
from django.urls import reverse

from approvals.json_types import JsonDict

#: `users:read` is for the name that the page of a link shows, `im:write` for direct messages.
BOT_SCOPES = ("chat:write", "im:write", "users:read")


def manifest(*, socket_mode: bool = False) -> JsonDict:
    """Return the manifest of an app that posts cards and sends clicks to this desk, or keeps them for its connection."""
    clicks: JsonDict = {"is_enabled": True}
    events: JsonDict = {"bot_events": ["app_uninstalled", "tokens_revoked"]}
    if not socket_mode:
        clicks["request_url"] = settings.PUBLIC_URL + reverse("slack:interactivity")
        events["request_url"] = settings.PUBLIC_URL + reverse("slack:events")
    return {
        "display_information": {
            "name": "Pausepoint",
            "description": "Approve the calls of AI agents",
        },
        "features": {"bot_user": {"display_name": "Pausepoint", "always_online": True}},
        "oauth_config": {"scopes": {"bot": list(BOT_SCOPES)}},
        "settings": {
            "interactivity": clicks,
            "event_subscriptions": events,
            "org_deploy_enabled": False,
            "socket_mode_enabled": socket_mode,
            "token_rotation_enabled": False,
        },
    }
