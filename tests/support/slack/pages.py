"""Pages that look enough like Slack to judge a card by, and whose buttons work: `python -m tests.support.slack`."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from tests.support.slack import methods
from tests.support.slack.mrkdwn import mrkdwn
from tests.support.slack.people import SEVERAL, NotPossible, Person, options_of
from tests.support.slack.workspace import Block, Channel, Json, Message, View

if TYPE_CHECKING:
    from tests.support.slack.server import Slack

HTML = "text/html; charset=utf-8"
STYLE = Path(__file__).with_name("slack.css")
Page = tuple[int, str, str]
INPUT_TYPES = {"number_input": "text", "datepicker": "date", "timepicker": "time", "email_text_input": "email"}


def get(slack: Slack, path: str, query: dict[str, str]) -> Page:
    if path == "/slack.css":
        return 200, "text/css; charset=utf-8", STYLE.read_text()
    shown = [each for each in slack.workspace.channels.values() if each.messages or each.kind != "im"]
    person = slack.people.get(query.get("as", "")) or next(iter(slack.people.values()), None)
    channel = slack.workspace.channels.get(path.removeprefix("/channels/"))
    if channel is None and shown:
        channel = shown[0]
    if channel is None or person is None:
        return 404, HTML, "No channel, or no person."
    return 200, HTML, Screen(slack, person).page(channel, shown)


def post(slack: Slack, path: str, pairs: Sequence[tuple[str, str]]) -> Page:
    """Do what a person does on a page."""
    form = dict(pairs)
    person = slack.people[form.pop("as")]
    back = f"/channels/{form.pop('channel')}?{urlencode({'as': person.member.name})}"
    if path == "/click":
        message = slack.workspace.message(back.split("/")[2].split("?")[0], form["ts"])
        assert message is not None
        person.click(message, form["action"], *[form[name] for name in ("value",) if name in form])
    elif path == "/close":
        person.modal.close()
    elif path == "/submit":
        modal = person.modal
        for name, block in modal.inputs.items():
            values = [value for key, value in pairs if key == name]
            modal.values[name] = values if block["element"]["type"] in SEVERAL else next(iter(values), None)
        try:
            modal.submit()
        except NotPossible as error:
            modal.view.errors = {next(iter(modal.inputs)): str(error)}
    return 303, HTML, back


class Screen:
    """What one person sees."""

    def __init__(self, slack: Slack, person: Person) -> None:
        self.slack = slack
        self.person = person
        workspace = slack.workspace
        self.names = {member.id: member.name for member in workspace.members.values()}
        self.names |= {channel.id: channel.name for channel in workspace.channels.values()}

    def page(self, channel: Channel, channels: Sequence[Channel]) -> str:
        links = "".join(self.channel_link(each, each is channel) for each in channels)
        messages = self.person.messages(channel.id)
        tops = [each for each in messages if not each.thread_ts]
        body = "".join(self.message(each) + self.thread(each, messages) for each in tops)
        views = methods.open_views(self.slack, self.person.id)
        modal = self.modal(views[-1], channel) if views else ""
        warnings = "".join(f'<p class="warning">⚠ {escape(each)}</p>' for each in self.person.warnings[-1:])
        return (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/slack.css">'
            f"<title>{escape(channel.name)} - Slack (stand-in)</title></head><body>"
            f"<nav><h2>{escape(self.slack.workspace.team_name)}</h2>{links}</nav>"
            f"<main><h1># {escape(channel.name)}</h1>{body}{warnings}</main>{modal}</body></html>"
        )

    def channel_link(self, channel: Channel, current: bool) -> str:
        query = urlencode({"as": self.person.member.name})
        mark = "●" if channel.kind == "im" else "#"
        state = ' aria-current="page"' if current else ""
        return f'<a href="/channels/{channel.id}?{query}"{state}>{mark} {escape(channel.name)}</a>'

    def thread(self, parent: Message, messages: Sequence[Message]) -> str:
        replies = [each for each in messages if each.thread_ts == parent.ts]
        if not replies:
            return ""
        return f'<div class="thread">{"".join(self.message(each) for each in replies)}</div>'

    def message(self, message: Message) -> str:
        blocks = "".join(self.block(each, message) for each in message.blocks)
        content = blocks or f"<p>{mrkdwn(message.text, self.names)}</p>"
        note = '<p class="only">Only visible to you</p>' if message.seen_by else ""
        is_app = message.user == self.slack.workspace.bot_user
        name = escape(self.slack.workspace.members[message.user].real_name)
        badge = ' <span class="badge">APP</span>' if is_app else ""
        return (
            f'<article class="message" id="m{message.ts}"><div class="avatar">{name[:1]}</div>'
            f'<div class="content">{note}<p class="author"><b>{name}</b>{badge}</p>{content}</div></article>'
        )

    def text(self, value: Json) -> str:
        if value["type"] == "mrkdwn":
            return mrkdwn(value["text"], self.names)
        return escape(value["text"]).replace("\n", "<br>")

    def block(self, block: Block, message: Message | None) -> str:
        match block["type"]:
            case "header":
                return f'<h3 class="header">{self.text(block["text"])}</h3>'
            case "divider":
                return "<hr>"
            case "context":
                texts = [self.text(each) for each in block["elements"] if each["type"] != "image"]
                return f'<p class="context">{" ".join(f"<span>{each}</span>" for each in texts)}</p>'
            case "actions":
                return (
                    f'<div class="actions">{"".join(self.element(each, message) for each in block["elements"])}</div>'
                )
            case "section":
                return self.section(block, message)
            case "input":
                return self.input(block)
            case "markdown":
                return f"<p>{escape(block['text'])}</p>"
        return f'<p class="context">{escape(block["type"])}</p>'

    def section(self, block: Block, message: Message | None) -> str:
        text = f'<div class="text">{self.text(block["text"])}</div>' if "text" in block else ""
        fields = "".join(f"<div>{self.text(each)}</div>" for each in block.get("fields", []))
        accessory = self.element(block["accessory"], message) if "accessory" in block else ""
        grid = f'<div class="fields">{fields}</div>' if fields else ""
        return f'<div class="section"><div>{text}{grid}</div>{accessory}</div>'

    def element(self, element: Json, message: Message | None) -> str:
        if message is None or element["type"] == "image":
            return ""
        hidden = self.hidden(message.channel) + field("ts", message.ts) + field("action", element["action_id"])
        if element["type"] != "button":
            select = f'<select name="value">{self.options(element)}</select>'
            return f'<form method="post" action="/click">{hidden}{select}<button>Choose</button></form>'
        label = self.text(element["text"])
        style = element.get("style", "")
        if "url" in element:
            return f'<a class="button {style}" href="{escape(element["url"])}">{label}</a>'
        confirm = element.get("confirm")
        if confirm:
            words = f"<b>{self.text(confirm['title'])}</b> {self.text(confirm['text'])}"
            asked = (
                f'<div class="confirm">{words} <button class="{style}">{self.text(confirm["confirm"])}</button></div>'
            )
            button = f'<details><summary class="button {style}">{label}</summary>{asked}</details>'
        else:
            button = f'<button class="{style}">{label}</button>'
        return f'<form method="post" action="/click">{hidden}{button}</form>'

    def options(self, element: Json) -> str:
        options = options_of(element)
        return "".join(
            f'<option value="{escape(each["value"])}">{self.text(each["text"])}</option>' for each in options
        )

    def hidden(self, channel: str) -> str:
        return field("as", self.person.member.name) + field("channel", channel)

    def modal(self, view: View, channel: Channel) -> str:
        content = view.content
        blocks = "".join(self.block(each, None) for each in content["blocks"])
        for name, words in view.errors.items():
            marker = f"<!--{escape(name)}-->"
            blocks = blocks.replace(marker, f'<p class="error" role="alert">{escape(words)}</p>')
        close = self.text(content["close"]) if content.get("close") else "Cancel"
        submit = f'<button class="primary">{self.text(content["submit"])}</button>' if content.get("submit") else ""
        return (
            f'<div class="shade"><form class="modal" method="post" action="/submit">{self.hidden(channel.id)}'
            f'<h2>{self.text(content["title"])}</h2><div class="blocks">{blocks}</div>'
            f'<div class="buttons"><button formaction="/close" formnovalidate>{close}</button>{submit}</div></form></div>'
        )

    def input(self, block: Block) -> str:
        optional = ' <span class="context">(optional)</span>' if block.get("optional") else ""
        hint = f'<p class="context">{self.text(block["hint"])}</p>' if "hint" in block else ""
        control = self.control(block["block_id"], block["element"])
        label = f"<span>{self.text(block['label'])}{optional}</span>"
        return f'<div class="input">{label}{control}{hint}<!--{escape(block["block_id"])}--></div>'

    def control(self, name: str, element: Json) -> str:
        kind = element["type"]
        named = f'name="{escape(name)}"'
        if kind in ("radio_buttons", "checkboxes"):
            box = "radio" if kind == "radio_buttons" else "checkbox"
            return "".join(self.choice(box, named, each) for each in element["options"])
        if kind in ("static_select", "multi_static_select"):
            return f"<select {named}{' multiple' if kind in SEVERAL else ''}>{self.options(element)}</select>"
        value = str(element.get("initial_value", element.get("initial_date", "")))
        if element.get("multiline"):
            return f"<textarea {named} rows=4>{escape(value)}</textarea>"
        return f'<input type="{INPUT_TYPES.get(kind, "text")}" {named} value="{escape(value)}">'

    def choice(self, box: str, named: str, option: Json) -> str:
        description = (
            f'<span class="context">{self.text(option["description"])}</span>' if "description" in option else ""
        )
        value = escape(option["value"])
        return f'<label><input type="{box}" {named} value="{value}"> {self.text(option["text"])} {description}</label>'


def field(name: str, value: str) -> str:
    return f'<input type="hidden" name="{name}" value="{escape(value)}">'
