"""Slack's Web API as far as a desk may use it; each method answers as Slack's reference says.

https://docs.slack.dev/reference/methods
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.support.slack.block_rules import message_errors, view_errors
from tests.support.slack.workspace import Channel, Json, Message, View

if TYPE_CHECKING:
    from tests.support.slack.server import Slack

#: A modal can have two others above it.
MOST_VIEWS = 3
LONGEST_TEXT = 40_000


class Refused(Exception):
    """Slack answers `ok: false` with this code, and these words in `response_metadata`."""

    def __init__(self, code: str, *messages: str, **members: Any) -> None:
        super().__init__(code)
        self.code = code
        self.messages = messages
        self.members = members

    def as_json(self) -> Json:
        answer: Json = {"ok": False, "error": self.code, **self.members}
        if self.messages:
            answer["response_metadata"] = {"messages": list(self.messages)}
        return answer


@dataclass(frozen=True)
class Method:
    run: Callable[[Slack, Json], Json]
    #: The bot needs one of them; "" is none.
    scopes: tuple[str, ...] = ("",)
    #: Slack reads JSON bodies of these methods alone; arguments of the others must be a form or a query.
    reads_json: bool = True
    app_token: bool = False


def needed(arguments: Json, *names: str) -> list[Any]:
    missing = [name for name in names if not arguments.get(name)]
    if missing:
        raise Refused("invalid_arguments", *[f"[ERROR] missing required field: {name}" for name in missing])
    return [arguments[name] for name in names]


def decoded(arguments: Json, name: str, code: str) -> Any:
    """Return an argument that is JSON inside a form, or JSON already."""
    value = arguments.get(name)
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise Refused(code, f"[ERROR] failed to parse {name}") from None


def target(slack: Slack, name: str) -> Channel:
    """Return the channel that a message goes to: by id, or the direct messages with a person."""
    workspace = slack.workspace
    member = workspace.members.get(name)
    if member is not None:
        if member.deleted:
            raise Refused("user_disabled")
        return workspace.direct_channel(member.id)
    channel = workspace.channels.get(name)
    if channel is None or (channel.kind != "public" and workspace.bot_user not in channel.members):
        raise Refused("channel_not_found")
    return channel


def writable(slack: Slack, channel: Channel) -> Channel:
    if channel.archived:
        raise Refused("is_archived")
    if slack.workspace.bot_user not in channel.members and "chat:write.public" not in slack.workspace.scopes:
        raise Refused("not_in_channel")
    return channel


def content(slack: Slack, arguments: Json) -> tuple[str, list[Json]]:
    """Return the text and blocks of a message, or refuse them."""
    blocks = decoded(arguments, "blocks", "invalid_blocks_format")
    text = arguments.get("text") or ""
    if not isinstance(text, str):
        raise Refused("invalid_arguments", "[ERROR] must be a string [json-pointer:/text]")
    if blocks is not None and not isinstance(blocks, list):
        raise Refused("invalid_blocks_format")
    errors = message_errors(blocks or [])
    if errors:
        slack.object(f"invalid blocks: {errors}")
        raise Refused("invalid_blocks", *errors, errors=errors)
    if not text and not blocks:
        raise Refused("no_text")
    if len(text) > LONGEST_TEXT:
        raise Refused("msg_too_long")
    if not text:
        slack.object("a message without `text`: notifications and screen readers have nothing to read")
    return text, slack.workspace.named_blocks(blocks or [])


def auth_test(slack: Slack, arguments: Json) -> Json:
    workspace = slack.workspace
    answer: Json = {
        "ok": True,
        "url": f"https://{workspace.team_name.lower()}.slack.com/",
        "team": workspace.team_name,
        "user": workspace.members[workspace.bot_user].name,
        "team_id": workspace.team_id,
        "user_id": workspace.bot_user,
        "bot_id": workspace.bot_id,
        "is_enterprise_install": bool(workspace.enterprise_id),
    }
    if workspace.enterprise_id:
        answer["enterprise_id"] = workspace.enterprise_id
    return answer


def post_message(slack: Slack, arguments: Json) -> Json:
    workspace = slack.workspace
    (name,) = needed(arguments, "channel")
    channel = writable(slack, target(slack, name))
    text, blocks = content(slack, arguments)
    metadata = decoded(arguments, "metadata", "invalid_metadata_format")
    if metadata is not None and not (isinstance(metadata, dict) and metadata.keys() >= {"event_type", "event_payload"}):
        raise Refused("invalid_metadata_format")
    thread = str(arguments.get("thread_ts") or "")
    if thread:
        parent = workspace.message(channel.id, thread)
        if parent is None:
            raise Refused("thread_not_found")
        if parent.thread_ts not in ("", thread):
            slack.object("`thread_ts` names a reply, not the message that the thread began with")
    message = Message(
        channel.id,
        workspace.next_ts(),
        workspace.bot_user,
        text,
        blocks,
        thread_ts=thread,
        metadata=metadata,
    )
    workspace.post(message)
    return {"ok": True, "channel": channel.id, "ts": message.ts, "message": shown(slack, message)}


def shown(slack: Slack, message: Message) -> Json:
    workspace = slack.workspace
    return message.as_json(workspace.app_id, workspace.bot_id, workspace.team_id)


def update(slack: Slack, arguments: Json) -> Json:
    workspace = slack.workspace
    name, ts = needed(arguments, "channel", "ts")
    channel = workspace.channels.get(name)
    if channel is None:
        raise Refused("channel_not_found")
    if channel.archived:
        raise Refused("is_inactive")
    message = workspace.message(name, str(ts))
    if message is None or message.seen_by:
        raise Refused("message_not_found")
    if message.user != workspace.bot_user:
        raise Refused("cant_update_message")
    text, blocks = content(slack, arguments)
    if "blocks" not in arguments and not arguments.get("text"):
        blocks = message.blocks
    with workspace.changed:
        message.replace(text, blocks)
        workspace.changed.notify_all()
    return {"ok": True, "channel": name, "ts": message.ts, "text": text, "message": shown(slack, message)}


def delete(slack: Slack, arguments: Json) -> Json:
    name, ts = needed(arguments, "channel", "ts")
    if name not in slack.workspace.channels:
        raise Refused("channel_not_found")
    message = slack.workspace.message(name, str(ts))
    if message is None:
        raise Refused("message_not_found")
    if message.user != slack.workspace.bot_user:
        raise Refused("cant_delete_message")
    with slack.workspace.changed:
        message.deleted = True
        slack.workspace.changed.notify_all()
    return {"ok": True, "channel": name, "ts": message.ts}


def post_ephemeral(slack: Slack, arguments: Json) -> Json:
    workspace = slack.workspace
    name, user = needed(arguments, "channel", "user")
    channel = writable(slack, target(slack, name))
    if user not in channel.members:
        raise Refused("user_not_in_channel")
    text, blocks = content(slack, arguments)
    thread = str(arguments.get("thread_ts") or "")
    message = Message(channel.id, workspace.next_ts(), workspace.bot_user, text, blocks, thread, seen_by=user)
    workspace.post(message)
    return {"ok": True, "message_ts": message.ts}


def permalink(slack: Slack, arguments: Json) -> Json:
    name, ts = needed(arguments, "channel", "message_ts")
    if slack.workspace.message(name, str(ts)) is None:
        raise Refused("message_not_found")
    link = f"https://acme.slack.com/archives/{name}/p{str(ts).replace('.', '')}"
    return {"ok": True, "channel": name, "permalink": link}


def valid_view(slack: Slack, arguments: Json) -> Json:
    view = decoded(arguments, "view", "invalid_arguments")
    errors = view_errors(view)
    if errors:
        slack.object(f"invalid view: {errors}")
        raise Refused("invalid_arguments", *errors)
    assert isinstance(view, dict)
    return view | {"blocks": slack.workspace.named_blocks(view["blocks"])}


def open_view(slack: Slack, arguments: Json) -> Json:
    trigger, _ = needed(arguments, "trigger_id", "view")
    user = slack.triggers.exchange(str(trigger))
    return shown_view(slack, add_view(slack, user, valid_view(slack, arguments)))


def push_view(slack: Slack, arguments: Json) -> Json:
    trigger, _ = needed(arguments, "trigger_id", "view")
    user = slack.triggers.exchange(str(trigger))
    stack = open_views(slack, user)
    if len(stack) >= MOST_VIEWS:
        raise Refused("push_limit_reached")
    below = stack[-1] if stack else None
    return shown_view(slack, add_view(slack, user, valid_view(slack, arguments), below))


def add_view(slack: Slack, user: str, content: Json, below: View | None = None) -> View:
    workspace = slack.workspace
    with workspace.changed:
        if below is None:
            for view in open_views(slack, user):
                view.closed = True
        name = workspace.next_id("V")
        view = View(name, user, content, root=below.root if below else name, previous=below.id if below else "")
        view.hash = workspace.next_id("h")
        workspace.views[name] = view
        workspace.changed.notify_all()
    return view


def open_views(slack: Slack, user: str) -> list[View]:
    return [view for view in slack.workspace.views.values() if view.user == user and not view.closed]


def update_view(slack: Slack, arguments: Json) -> Json:
    views = slack.workspace.views
    external = arguments.get("external_id")
    name = arguments.get("view_id")
    if not name and external:
        name = next((view.id for view in views.values() if view.content.get("external_id") == external), None)
    view = views.get(str(name))
    if view is None or view.closed:
        raise Refused("not_found")
    if arguments.get("hash", view.hash) != view.hash:
        raise Refused("hash_conflict")
    replace_view(slack, view, valid_view(slack, arguments))
    return shown_view(slack, view)


def replace_view(slack: Slack, view: View, content: Json) -> None:
    with slack.workspace.changed:
        view.content = content
        view.errors = {}
        view.hash = slack.workspace.next_id("h")
        slack.workspace.changed.notify_all()


def view_json(slack: Slack, view: View) -> Json:
    workspace = slack.workspace
    known: Json = {"private_metadata": "", "callback_id": "", "external_id": "", "clear_on_close": False}
    return {
        **known,
        "notify_on_close": False,
        "close": None,
        "submit": None,
        **copy.deepcopy(view.content),
        "id": view.id,
        "team_id": workspace.team_id,
        "state": {"values": {}},
        "hash": view.hash,
        "root_view_id": view.root,
        "previous_view_id": view.previous or None,
        "app_id": workspace.app_id,
        "app_installed_team_id": workspace.team_id,
        "bot_id": workspace.bot_id,
    }


def shown_view(slack: Slack, view: View) -> Json:
    return {"ok": True, "view": view_json(slack, view)}


def open_conversation(slack: Slack, arguments: Json) -> Json:
    if arguments.get("channel"):
        return {"ok": True, "channel": {"id": target(slack, arguments["channel"]).id}}
    users = [name for name in str(arguments.get("users") or "").split(",") if name]
    if not users:
        raise Refused("users_list_not_supplied")
    member = slack.workspace.members.get(users[0])
    if member is None or len(users) > 1:
        raise Refused("user_not_found")
    if member.deleted:
        raise Refused("user_disabled")
    return {"ok": True, "channel": {"id": slack.workspace.direct_channel(member.id).id}}


def conversation_info(slack: Slack, arguments: Json) -> Json:
    (name,) = needed(arguments, "channel")
    channel = slack.workspace.channels.get(name)
    is_member = channel is not None and slack.workspace.bot_user in channel.members
    if channel is None or (channel.kind == "private" and not is_member):
        raise Refused("channel_not_found")
    return {"ok": True, "channel": channel.as_json() | {"is_member": is_member}}


def conversation_members(slack: Slack, arguments: Json) -> Json:
    (name,) = needed(arguments, "channel")
    members = target(slack, name).members
    size = int(arguments.get("limit") or 100)
    start = int(arguments.get("cursor") or 0)
    cursor = str(start + size) if start + size < len(members) else ""
    return {"ok": True, "members": members[start : start + size], "response_metadata": {"next_cursor": cursor}}


def conversation_list(slack: Slack, arguments: Json) -> Json:
    bot = slack.workspace.bot_user
    channels = [each for each in slack.workspace.channels.values() if each.kind == "public" or bot in each.members]
    listed = [each.as_json() | {"is_member": bot in each.members} for each in channels if each.kind != "im"]
    return {"ok": True, "channels": listed, "response_metadata": {"next_cursor": ""}}


def user_info(slack: Slack, arguments: Json) -> Json:
    (name,) = needed(arguments, "user")
    member = slack.workspace.members.get(name)
    if member is None:
        raise Refused("user_not_found")
    return {"ok": True, "user": member.as_json(with_email="users:read.email" in slack.workspace.scopes)}


def open_connection(slack: Slack, arguments: Json) -> Json:
    if not slack.socket.enabled:
        raise Refused("not_allowed_token_type", "[ERROR] Socket Mode is not turned on")
    return {"ok": True, "url": slack.socket.new_address()}


READ = ("channels:read", "groups:read", "im:read", "mpim:read")
METHODS = {
    "auth.test": Method(auth_test),
    "chat.postMessage": Method(post_message, ("chat:write",)),
    "chat.update": Method(update, ("chat:write",)),
    "chat.delete": Method(delete, ("chat:write",)),
    "chat.postEphemeral": Method(post_ephemeral, ("chat:write",)),
    "chat.getPermalink": Method(permalink, reads_json=False),
    "views.open": Method(open_view),
    "views.push": Method(push_view),
    "views.update": Method(update_view),
    "conversations.open": Method(open_conversation, ("im:write", "mpim:write")),
    "conversations.info": Method(conversation_info, READ, reads_json=False),
    "conversations.members": Method(conversation_members, READ, reads_json=False),
    "conversations.list": Method(conversation_list, READ, reads_json=False),
    "users.info": Method(user_info, ("users:read",), reads_json=False),
    "apps.connections.open": Method(open_connection, app_token=True, reads_json=False),
}


def authorized(slack: Slack, method: Method, token: str) -> None:
    workspace = slack.workspace
    expected = workspace.app_token if method.app_token else workspace.bot_token
    if not token:
        raise Refused("not_authed")
    if token != expected:
        known = token in (workspace.app_token, workspace.bot_token)
        raise Refused("not_allowed_token_type" if known else "invalid_auth")
    if workspace.refusal:
        raise Refused(workspace.refusal)
    if method.app_token or "" in method.scopes:
        return
    if not set(method.scopes) & set(workspace.scopes):
        raise Refused("missing_scope", needed=method.scopes[0], provided=",".join(workspace.scopes))
