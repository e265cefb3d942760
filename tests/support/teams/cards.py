"""What the stand-in knows of Adaptive Cards: their rules, their words, and their buttons with the inputs that each sends."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
#: https://learn.microsoft.com/microsoftteams/platform/bots/how-to/format-your-bot-messages
MAX_BYTES = 28_000
MAX_ACTIONS = 6
ELEMENTS = {"RichTextBlock", "ActionSet", "Input.Text", "Input.ChoiceSet", "Input.Date"}
ACTIONS = {"Action.Execute", "Action.ShowCard", "Action.OpenUrl"}
STYLES = {"default", "positive", "destructive"}


@dataclass(frozen=True)
class Button:
    """A button that answers or opens, with the inputs beside it."""

    action: Json
    inputs: dict[str, Json] = field(default_factory=dict)

    def data(self, entered: dict[str, str]) -> Json:
        """Return what a click sends: the data of the button, and every input."""
        assert set(entered) <= set(self.inputs), (entered, list(self.inputs))
        values = {name: each.get("value", "") for name, each in self.inputs.items()}
        return {**self.action.get("data", {}), **values, **entered}


def elements(card: Json) -> Iterator[Json]:
    """Yield each element and action of a card, and of the cards that it unfolds."""
    for each in [*card.get("body", []), *card.get("actions", [])]:
        yield each
        for action in each.get("actions", []):
            yield action
            if action["type"] == "Action.ShowCard":
                yield from elements(action["card"])
        if each["type"] == "Action.ShowCard":
            yield from elements(each["card"])


def buttons(card: Json) -> dict[str, Button]:
    """Return the buttons by their titles; those of unfolded cards too."""
    found: dict[str, Button] = {}
    inputs = {each["id"]: each for each in card.get("body", []) if each["type"].startswith("Input.")}
    sets = [each["actions"] for each in card.get("body", []) if each["type"] == "ActionSet"]
    for action in [each for row in [*sets, card.get("actions", [])] for each in row]:
        if action["type"] == "Action.ShowCard":
            found |= buttons(action["card"])
        else:
            found[action["title"]] = Button(action, inputs)
    return found


def titles(card: Json) -> list[str]:
    """Return the titles of the buttons that show at once, in order."""
    rows = [each["actions"] for each in card["body"] if each["type"] == "ActionSet"]
    return [action["title"] for row in rows for action in row]


def words(card: Json) -> str:
    blocks = [each for each in card["body"] if each["type"] == "RichTextBlock"]
    return "\n".join("".join(run["text"] for run in block["inlines"]) for block in blocks)


def errors(activity: Json) -> list[str]:
    """Return what Teams would refuse or show wrong in a message."""
    [attachment] = activity["attachments"]
    card = attachment["content"]
    found = [] if attachment["contentType"] == "application/vnd.microsoft.card.adaptive" else ["wrong type"]
    if len(json.dumps(activity, ensure_ascii=False).encode()) > MAX_BYTES:
        found.append("larger than 28 KB")
    if (card["type"], card["version"]) != ("AdaptiveCard", "1.4"):
        found.append("no card of a version that Teams shows everywhere")
    ids = Counter(each["id"] for each in elements(card) if "id" in each)
    found += [f"the id {name} twice" for name, count in ids.items() if count > 1]
    for each in elements(card):
        found += _element_errors(each)
    return found


def _element_errors(each: Json) -> list[str]:
    found = [] if each["type"] in ELEMENTS | ACTIONS else [f"the element {each['type']} is not allowed here"]
    if each["type"] == "ActionSet" and len(each["actions"]) > MAX_ACTIONS:
        found.append("more than six actions")
    if each["type"] == "RichTextBlock":
        found += [f"a function in {run['text']}" for run in each["inlines"] if "{{" in run["text"]]
        found += ["a run is empty" for run in each["inlines"] if not run["text"]]
    if each["type"] in ACTIONS and not (each["title"].strip() and each.get("style", "default") in STYLES):
        found.append("an action without a title, or with an unknown style")
    if each["type"].startswith("Input.") and not (each["id"] and each["label"].strip()):
        found.append("an input without a name or label")
    return found
