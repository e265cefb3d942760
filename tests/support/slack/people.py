"""People in the stand-in of Slack: they read, click, fill in modals and submit them, as far as Slack's clients let them."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.support.slack import delivery, methods
from tests.support.slack.delivery import Answer
from tests.support.slack.workspace import Json, Member, Message, View, block_elements, block_words

if TYPE_CHECKING:
    from tests.support.slack.server import Slack

SINGLE = {"static_select", "radio_buttons"}
SEVERAL = {"multi_static_select", "checkboxes"}
#: The member of a value in `view.state` for each kind of input.
MEMBERS = {"datepicker": "selected_date", "timepicker": "selected_time", "datetimepicker": "selected_date_time"}


class NotPossible(AssertionError):
    """A client of Slack would not let a person do that."""


@dataclass
class Person:
    slack: Slack
    member: Member
    #: Warning triangles that Slack showed after a click or a submission.
    warnings: list[str] = field(default_factory=list)

    @property
    def id(self) -> str:
        return self.member.id

    def messages(self, channel: str) -> list[Message]:
        """Return what this person sees in a channel."""
        known = self.slack.workspace.channels[channel]
        if self.id not in known.members:
            return []
        return [each for each in known.messages if each.seen_by in ("", self.id) and not each.deleted]

    def click(self, message: Message, action_id: str, *values: str) -> Answer:
        """Press a button, or choose from a menu of a message; the answer is what the app said to it."""
        assert message in self.messages(message.channel), f"{self.member.name} does not see that message"
        element = message.buttons.get(action_id)
        if element is None:
            raise NotPossible(f"no {action_id} among {sorted(message.buttons)}")
        return self.send(self.click_payload(message, action_id, *values))

    def click_payload(self, message: Message, action_id: str, *values: str) -> Json:
        """Return the payload of a click, also of one on an earlier content of the message."""
        contents = [message.blocks, *[blocks for _, blocks in reversed(message.earlier)]]
        pairs = [(block, each) for blocks in contents for block in blocks for each in block_elements(block)]
        block, element = next(pair for pair in pairs if pair[1].get("action_id") == action_id)
        container: Json = {
            "type": "message",
            "message_ts": message.ts,
            "channel_id": message.channel,
            "is_ephemeral": bool(message.seen_by),
        }
        if message.thread_ts:
            container["thread_ts"] = message.thread_ts
        channel = self.slack.workspace.channels[message.channel]
        payload = self.payload("block_actions") | {
            "container": container,
            "channel": {"id": channel.id, "name": "directmessage" if channel.kind == "im" else channel.name},
            "state": {"values": {}},
            "response_url": self.slack.new_response_url(self.id, message),
            "actions": [self.action(block, element, values)],
        }
        if not message.seen_by:
            payload["message"] = methods.shown(self.slack, message)
        return payload

    def action(self, block: Json, element: Json, values: tuple[str, ...]) -> Json:
        known = {name: element[name] for name in ("type", "action_id", "text", "value", "style") if name in element}
        action = known | {"block_id": block["block_id"], "action_ts": self.slack.workspace.next_ts()}
        if values:
            action |= stated(element, list(values) if element["type"] in SEVERAL else values[0])
        return action

    def payload(self, kind: str) -> Json:
        workspace = self.slack.workspace
        enterprise = workspace.enterprise_id
        return {
            "type": kind,
            "user": {
                "id": self.id,
                "username": self.member.name,
                "name": self.member.name,
                "team_id": self.member.team_id,
            },
            "api_app_id": workspace.app_id,
            "token": "a verification token, deprecated",
            "trigger_id": self.slack.triggers.give(self.id),
            "team": {"id": workspace.team_id, "domain": workspace.team_name.lower()},
            "enterprise": {"id": enterprise, "name": "Acme Grid"} if enterprise else None,
            "is_enterprise_install": False,
        }

    def send(self, payload: Json) -> Answer:
        """Bring a payload to the app as it is, a second time too."""
        answer = delivery.interact(self.slack, payload)
        if answer.failed:
            self.warnings.append(answer.failed)
        return answer

    @property
    def modal(self) -> Modal:
        """The modal on top of this person's screen."""
        views = methods.open_views(self.slack, self.id)
        assert views, f"{self.member.name} has no modal open"
        return Modal(self, views[-1])


@dataclass
class Modal:
    person: Person
    view: View
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def blocks(self) -> list[Json]:
        return list(self.view.content["blocks"])

    @property
    def inputs(self) -> dict[str, Json]:
        return {block["block_id"]: block for block in self.blocks if block["type"] == "input"}

    @property
    def words(self) -> str:
        return "\n".join([self.view.content["title"]["text"], *block_words(self.blocks)])

    def fill(self, **values: Any) -> Modal:
        """Type or choose; blocks are named by their ids (dots as two underscores), options by their values."""
        for name, value in values.items():
            block_id = name.replace("__", ".")
            if block_id not in self.inputs:
                raise NotPossible(f"no input {block_id} among {sorted(self.inputs)}")
            self.values[block_id] = value
        return self

    def state(self) -> Json:
        state: Json = {}
        for block_id, block in self.inputs.items():
            element = block["element"]
            value = self.values.get(block_id, initial(element))
            problem = client_problem(block, value)
            if problem:
                raise NotPossible(f"{block_id}: {problem}")
            state[block_id] = {element["action_id"]: {"type": element["type"]} | stated(element, value)}
        return {"values": state}

    def submission(self) -> Json:
        slack = self.person.slack
        view = methods.view_json(slack, self.view) | {"state": self.state()}
        return self.person.payload("view_submission") | {"view": view, "response_urls": []}

    def submit(self) -> Answer:
        """Submit as a client does: not while a field is wrong; the modal stays open with the app's errors."""
        answer = self.person.send(self.submission())
        if answer.failed:
            return answer
        self.take(answer.payload if isinstance(answer.payload, dict) else {})
        return answer

    def take(self, answer: Json) -> None:
        slack = self.person.slack
        action = answer.get("response_action")
        if action == "errors":
            self.view.errors = answer["errors"]
        elif action == "update":
            methods.replace_view(slack, self.view, named(slack, answer["view"]))
        elif action == "push":
            methods.add_view(slack, self.person.id, named(slack, answer["view"]), self.view)
        elif action == "clear":
            for view in methods.open_views(slack, self.person.id):
                view.closed = True
        else:
            self.view.closed = True

    def close(self) -> Answer | None:
        """Leave without submitting; the app hears of it only if it asked for that."""
        self.view.closed = True
        if not self.view.content.get("notify_on_close"):
            return None
        payload = self.person.payload("view_closed") | {"is_cleared": False}
        del payload["trigger_id"]
        return self.person.send(payload | {"view": methods.view_json(self.person.slack, self.view)})


def named(slack: Slack, content: Json) -> Json:
    return content | {"blocks": slack.workspace.named_blocks(content["blocks"])}


def initial(element: Json) -> Any:
    kind = element["type"]
    if kind in SEVERAL:
        return [option["value"] for option in element.get("initial_options", [])]
    if kind in SINGLE:
        option = element.get("initial_option")
        return option["value"] if option else None
    names = ("initial_value", "initial_date", "initial_time", "initial_date_time", "initial_user")
    return next((element[name] for name in names if name in element), None)


def options_of(element: Json) -> list[Json]:
    groups = element.get("option_groups", [])
    return [*element.get("options", []), *[option for group in groups for option in group["options"]]]


def stated(element: Json, value: Any) -> Json:
    """Return a value as Slack sends it in a state or an action."""
    kind = element["type"]
    options = {option["value"]: option for option in options_of(element)}
    if kind in SEVERAL:
        return {"selected_options": [copy.deepcopy(options[each]) for each in value or []]}
    if kind in SINGLE or kind == "overflow":
        return {"selected_option": copy.deepcopy(options[value]) if value else None}
    if kind == "users_select":
        return {"selected_user": value}
    return {MEMBERS.get(kind, "value"): value}


def client_problem(block: Json, value: Any) -> str:
    """Return why a client of Slack would not submit this value, "" if it would."""
    element = block["element"]
    if value in (None, "", []):
        return "" if block.get("optional") else "required"
    kind = element["type"]
    if kind == "plain_text_input":
        length = len(str(value))
        if not element.get("min_length", 0) <= length <= element.get("max_length", 3000):
            return "wrong length"
    if kind == "number_input":
        return number_problem(element, str(value))
    if kind == "email_text_input" and "@" not in value:
        return "no email address"
    if kind == "url_text_input" and not re.match(r"https?://.", value):
        return "no address"
    return ""


def number_problem(element: Json, value: str) -> str:
    if not re.fullmatch(r"-?\d+(\.\d+)?" if element["is_decimal_allowed"] else r"-?\d+", value):
        return "no number"
    least = float(element.get("min_value", "-inf"))
    most = float(element.get("max_value", "inf"))
    return "" if least <= float(value) <= most else "out of range"
