"""Render cards as Adaptive Cards. Texts of models and people are always text runs, in which Markdown is not markup."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals.asking.answers import ABSENT
from approvals.channels.content import MAX_PART, CardContent, cut
from approvals.channels.dialogs import MAX_TEXT, fields_of, label_of, proposed_value
from approvals.channels.messenger import ChannelMessage
from approvals.forms.fields import FormControl, Widget
from approvals.forms.texts import index_of, text_for
from approvals.json_types import JsonDict
from approvals.models import ApprovalRequest
from approvals.outbound.messages import count_words
from approvals.states import Kind
from approvals.text.text import in_one_line, visible

VERB = "pausepoint"
VERSION = "1.4"
#: Teams refuses larger messages; a card that would be larger offers less.
MAX_BYTES = 27_000
#: The functions for dates that renderers evaluate in any text but those of inputs and buttons.
_FUNCTION = "{{"
#: Labels that the check boxes of renderers, which read Markdown, leave as they are.
_NO_MARKDOWN = re.compile(r"[^\W\d_][\w ,;:'\"?!%€$()/-]*")
#: Spaces that a renderer would fold.
_FOLDED = re.compile(r"(?m)^ | (?= )")


def text(*runs: str, **more: Any) -> JsonDict:
    """Return a block of literal text."""
    return {"type": "RichTextBlock", "inlines": list(_runs("".join(runs), more))}


def _runs(words: str, more: JsonDict) -> Iterable[JsonDict]:
    """Yield text runs. The two braces of a function stand in different runs, so that it is not evaluated."""
    shown = _FOLDED.sub("\u00a0", words) or " "
    for part in re.split(r"(?<=\{)(?=\{)", shown):
        yield {"type": "TextRun", "text": part, **more}


def execute(action: str, title: str, data: JsonDict, **more: Any) -> JsonDict:
    return {
        "type": "Action.Execute",
        "title": title,
        "verb": f"{VERB}.{action}",
        "data": data,
        **more,
    }


def open_url(title: str, url: str) -> JsonDict:
    return {"type": "Action.OpenUrl", "title": title, "url": url}


def message(
    words: str, body: Sequence[JsonDict], *rows: list[JsonDict]
) -> ChannelMessage:
    """Return a message of these blocks with rows of buttons; `words` are for notifications."""
    sets = [{"type": "ActionSet", "actions": row} for row in rows if row]
    card = {
        "type": "AdaptiveCard",
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "version": VERSION,
        "fallbackText": words,
        "body": [*body, *sets],
    }
    labels = [button["title"] for row in rows for button in row]
    return ChannelMessage(words, card, labels)


def card(request: ApprovalRequest, content: CardContent) -> ChannelMessage:
    """Return the message of a card: with forms if they fit, else without, and at worst with the title alone."""
    plain = replace(content, answers=[], options=())
    steps = [
        (content, True),
        (content, False),
        (plain, False),
        (replace(plain, parts=()), False),
    ]
    sized = (_card(request, shown, forms=forms) for shown, forms in steps)
    return next(each for each in sized if size(each) <= MAX_BYTES)


def size(shown: ChannelMessage) -> int:
    return len(json.dumps(shown.body, ensure_ascii=False).encode())


def _card(
    request: ApprovalRequest, content: CardContent, *, forms: bool
) -> ChannelMessage:
    votes = "" if content.ending else content.votes
    body = [text(content.title, weight="Bolder", size="Medium")]
    body += [text(part) for part in content.parts if part.strip()]
    body += [text(words, isSubtle=True) for words in (content.about, votes) if words]
    body += [text(content.ending, weight="Bolder")] if content.ending else []
    subject = {"request": str(request.pk), "digest": request.voted_digest}
    options = [
        execute("option", in_one_line(visible(label)), {**subject, "option": number})
        for number, label in enumerate(content.options)
        if "option" in content.answers
    ]
    others = list(_answers(request, content, subject, forms=forms))
    buttons = [*others, open_url(_("Open"), request.public_url)]
    return message(content.ending or content.title, body, options, buttons)


def _answers(
    request: ApprovalRequest, content: CardContent, subject: JsonDict, *, forms: bool
) -> Iterable[JsonDict]:
    offered = set(content.answers)
    if "approve" in offered and content.needs_message:
        yield _form(request, "approve", _("Approve…"), _("Approve"), (), subject)
    elif "approve" in offered:
        yield execute("approve", _("Approve"), subject, style="positive")
    with_fields = {
        "edit": (_("Approve with changes…"), _("Change and approve")),
        "answer": (_("Answer…"), _("Answer")),
    }
    for action, (title, done) in with_fields.items():
        fields = shown_fields(request, action) if action in offered and forms else None
        if fields is not None:
            yield _form(request, action, title, done, fields, subject)
    if "reject" in offered:
        approval = request.kind == Kind.APPROVAL
        title = _("Reject…") if approval else _("Decline…")
        done = _("Reject") if approval else _("Decline")
        yield _form(request, "reject", title, done, (), subject)


def shown_fields(request: ApprovalRequest, action: str) -> Sequence[FormControl] | None:
    """Return the fields of a form; None if the inputs of a card cannot show them as they are."""
    fields = fields_of(request, action)
    return fields if fields is not None and all(map(_is_shown, fields)) else None


def _is_shown(field: FormControl) -> bool:
    labels = [label_of(offer) for offer in field.offers]
    boxes = field.widget == Widget.SEVERAL
    return (
        field.input_type != "datetime-local"
        and _FUNCTION not in visible(f"{field.label} {field.help} {field.limits}")
        and (not boxes or all(map(_NO_MARKDOWN.fullmatch, labels)))
    )


def _form(
    request: ApprovalRequest,
    action: str,
    title: str,
    done: str,
    fields: Sequence[FormControl],
    subject: JsonDict,
) -> JsonDict:
    """Return a button that unfolds inputs, and a button that sends them."""
    inputs = [
        _input(
            field,
            input_id(action, number),
            proposed_value(request, field) if action == "edit" else ABSENT,
        )
        for number, field in enumerate(fields)
    ]
    if action != "answer":
        inputs.append(
            {
                "type": "Input.Text",
                "id": input_id(action),
                "label": _("Message to the agent"),
                "isMultiline": True,
                "maxLength": MAX_TEXT,
            }
        )
    style = "destructive" if action == "reject" else "positive"
    send = execute(action, done, subject, style=style)
    unfolded = {"type": "AdaptiveCard", "body": inputs, "actions": [send]}
    return {"type": "Action.ShowCard", "title": title, "card": unfolded}


def input_id(action: str, number: int | None = None) -> str:
    """Return the name of an input, which is unique in its card; without a number, of the message to the agent."""
    return f"{action}.comment" if number is None else f"{action}.{number}"


def _input(field: FormControl, name: str, value: Any) -> JsonDict:
    about = " ".join(filter(None, (field.help, field.limits)))
    label = visible(f"{field.label} ({about})" if about else field.label)
    shared: JsonDict = {"id": name, "label": cut(label, 500)}
    if field.offers:
        several = field.widget == Widget.SEVERAL
        values = value if several and isinstance(value, list) else [value]
        places = [index_of(field, each) for each in values if each is not ABSENT]
        chosen = ",".join(str(place) for place in places if place is not None)
        choices = [
            {"title": label_of(offer), "value": str(number)}
            for number, offer in enumerate(field.offers)
        ]
        return {
            "type": "Input.ChoiceSet",
            **shared,
            "style": "expanded" if several else "compact",
            "isMultiSelect": several,
            "choices": choices,
            "value": chosen,
        }
    if field.input_type == "date":
        return {"type": "Input.Date", **shared, "value": text_for(field, value)}
    return {
        "type": "Input.Text",
        **shared,
        "isMultiline": field.widget == Widget.LINES,
        "maxLength": MAX_TEXT,
        "value": text_for(field, value),
    }


def digest(requests: Sequence[ApprovalRequest]) -> ChannelMessage:
    """Return one message about many waiting requests: only their number, because it is not rewritten when rights change."""
    words = count_words(requests)
    inbox = settings.PUBLIC_URL + reverse("approvals:dashboard")
    return message(words, [text(words)], [open_url(_("Open Inbox"), inbox)])


def test_card() -> ChannelMessage:
    """Return the card that shows that the connection works, and lets people link their accounts."""
    words = _("Pausepoint can post here. Requests appear as cards like this one.")
    return message(words, [text(words)], [execute("link", _("Link my account"), {})])


def line(words: str, link: str = "") -> ChannelMessage:
    """Return a line, with a button that opens the link to link an account."""
    buttons = [open_url(_("Link my account"), link)] if link else []
    return message(words, [text(cut(words, MAX_PART))], buttons)
