"""The parts of Slack's messages and dialogs. Texts of models and people are always `plain_text`, in which nothing is markup."""

from __future__ import annotations

import json
from typing import Any

from approvals.channels.content import MAX_PART, cut
from approvals.json_types import JsonDict

#: The block with the buttons, and the prefix of its actions.
BLOCK = "pausepoint"
MAX_BUTTON = 75


def text_object(text: str, most: int = MAX_PART) -> JsonDict:
    return {"type": "plain_text", "text": cut(text, most) or " ", "emoji": False}


def section(text: str) -> JsonDict:
    return {"type": "section", "text": text_object(text)}


def button(action: str, label: str, **more: Any) -> JsonDict:
    """Return a button; `more` has its `value` (as JSON) or the `url` that it opens."""
    if "value" in more:
        more["value"] = json.dumps(more["value"])
    text = text_object(label, MAX_BUTTON)
    return {"type": "button", "action_id": f"{BLOCK}.{action}", "text": text, **more}


def actions(*elements: JsonDict) -> JsonDict:
    return {"type": "actions", "block_id": BLOCK, "elements": list(elements)}
