"""The manifest of the Slack app that an administrator creates, with the address of this desk."""

from __future__ import annotations

from django.conf import settings
from django.urls import reverse

from approvals.json_types import JsonDict

#: `users:read` is for the name that the page of a link shows, `im:write` for direct messages.
BOT_SCOPES = ("chat:write", "im:write", "users:read")


def manifest(*, socket_mode: bool = False) -> JsonDict:
    """Return the manifest of an app that posts cards and sends clicks to this desk, or keeps them for its connection."""
    brought: JsonDict
    if socket_mode:
        # Without an address, events come over the connection too.
        events = ["app_uninstalled", "tokens_revoked"]
        brought = {"interactivity": {"is_enabled": True}}
        brought["event_subscriptions"] = {"bot_events": events}
    else:
        address = settings.PUBLIC_URL + reverse("slack:interactivity")
        brought = {"interactivity": {"is_enabled": True, "request_url": address}}
    return {
        "display_information": {
            "name": "Pausepoint",
            "description": "Approve the calls of AI agents",
        },
        "features": {"bot_user": {"display_name": "Pausepoint", "always_online": True}},
        "oauth_config": {"scopes": {"bot": list(BOT_SCOPES)}},
        "settings": {
            **brought,
            "org_deploy_enabled": False,
            "socket_mode_enabled": socket_mode,
            "token_rotation_enabled": False,
        },
    }
