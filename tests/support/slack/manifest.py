"""Creating an app from a manifest, as on https://api.slack.com/apps: what Slack refuses in it, and what it sets.

https://docs.slack.dev/reference/app-manifest
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.support.slack.shapes import Shape, array, boolean, error, integer, string

URL = string(3000, pattern=r"https://\S+|http://127\.0\.0\.1:\d+/\S*")
METADATA = Shape(optional={"major_version": integer(1, 2), "minor_version": integer(0, 9)})
DISPLAY = Shape(
    required={"name": string(35)},
    optional={
        "description": string(140),
        "long_description": string(4000, 174),
        "background_color": string(7, 4, "#[0-9a-fA-F]{3,6}"),
    },
)
BOT = Shape(
    required={"display_name": string(80, 1, r"[a-z0-9._ -]+|[A-Za-z0-9._ -]+")}, optional={"always_online": boolean}
)
HOME = Shape(
    optional={
        "home_tab_enabled": boolean,
        "messages_tab_enabled": boolean,
        "messages_tab_read_only_enabled": boolean,
    },
)
SCOPES = Shape(optional={"bot": array(string(100, pattern=r"[a-z_.:]+"), 255), "user": array(string(100), 255)})
OAUTH = Shape(optional={"scopes": SCOPES, "redirect_urls": array(URL, 1000, 0)})
EVENTS = Shape(
    optional={"request_url": URL, "bot_events": array(string(100), 100), "user_events": array(string(100), 100)}
)
INTERACTIVITY = Shape(
    required={"is_enabled": boolean},
    optional={"request_url": URL, "message_menu_options_url": URL},
)
SETTINGS = Shape(
    optional={
        "event_subscriptions": EVENTS,
        "interactivity": INTERACTIVITY,
        "org_deploy_enabled": boolean,
        "socket_mode_enabled": boolean,
        "token_rotation_enabled": boolean,
        "is_hosted": boolean,
    },
)
MANIFEST = Shape(
    required={"display_information": DISPLAY},
    optional={
        "_metadata": METADATA,
        "settings": SETTINGS,
        "features": Shape(optional={"bot_user": BOT, "app_home": HOME}),
        "oauth_config": OAUTH,
    },
)
#: Scopes that Slack has; a name that it does not know is refused.
KNOWN_SCOPES = {
    "app_mentions:read",
    "channels:join",
    "channels:read",
    "chat:write",
    "chat:write.public",
    "commands",
    "groups:read",
    "im:history",
    "im:read",
    "im:write",
    "mpim:read",
    "mpim:write",
    "team:read",
    "users:read",
    "users:read.email",
}
#: The scope that Slack demands of an app that listens to an event.
EVENT_SCOPES = {
    "app_uninstalled": "",
    "tokens_revoked": "",
    "channel_archive": "channels:read",
    "channel_unarchive": "channels:read",
    "channel_deleted": "channels:read",
    "group_archive": "groups:read",
    "member_joined_channel": "channels:read",
    "member_left_channel": "channels:read",
    "user_change": "users:read",
    "app_home_opened": "",
}


def manifest_errors(manifest: Any) -> list[str]:
    errors = list(MANIFEST(manifest, ""))
    return errors or list(contradictions(manifest))


def contradictions(manifest: dict[str, Any]) -> Iterator[str]:
    settings = manifest.get("settings", {})
    scopes = bot_scopes(manifest)
    socket = settings.get("socket_mode_enabled", False)
    interactivity = settings.get("interactivity", {})
    events = settings.get("event_subscriptions", {})
    for scope in sorted(scopes - KNOWN_SCOPES):
        yield error(f"unknown scope: {scope}", "/oauth_config/scopes/bot")
    if scopes and "bot_user" not in manifest.get("features", {}):
        yield error("bot scopes need a bot user", "/features/bot_user")
    if interactivity.get("is_enabled") and not socket and "request_url" not in interactivity:
        yield error("missing required field: request_url", "/settings/interactivity")
    if events.get("bot_events") and not socket and "request_url" not in events:
        yield error("missing required field: request_url", "/settings/event_subscriptions")
    for event in events.get("bot_events", []):
        scope = EVENT_SCOPES.get(event)
        if scope is None:
            yield error(f"unknown event: {event}", "/settings/event_subscriptions/bot_events")
        elif scope and scope not in scopes:
            yield error(f"{event} needs the scope {scope}", "/settings/event_subscriptions/bot_events")


def bot_scopes(manifest: dict[str, Any]) -> set[str]:
    return set(manifest.get("oauth_config", {}).get("scopes", {}).get("bot", []))
