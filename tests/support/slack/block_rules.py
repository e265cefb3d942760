"""What Slack's documentation demands of blocks, and the errors that Slack answers with.

https://docs.slack.dev/reference/block-kit
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.slack.shapes import Check, Shape, array, boolean, error, integer, one_of, plain, string, text

ACTION = string(255)
URL = string(3000)
CONFIRM = Shape(
    required={"title": plain(100), "text": text(300), "confirm": plain(30), "deny": plain(30)},
    optional={"style": one_of("primary", "danger")},
)
#: Radio buttons and checkboxes may have formatted texts, menus may not.
ITEM = Shape(required={"text": text(75), "value": string(150)}, optional={"description": text(75)})
OPTION = Shape(required={"text": plain(75), "value": string(150)}, optional={"description": plain(75)})
LINK_OPTION = Shape(required=OPTION.required, optional={**OPTION.optional, "url": URL})
GROUP = Shape(required={"label": plain(75), "options": array(OPTION, 100)})
IMAGE = {"alt_text": string(2000), "image_url": URL}
COMMON: Mapping[str, Check] = {"action_id": ACTION, "focus_on_load": boolean}
FIELD: Mapping[str, Check] = {**COMMON, "placeholder": plain(150)}
MENU: Mapping[str, Check] = {"options": array(OPTION, 100), "option_groups": array(GROUP, 100), "confirm": CONFIRM}
DATE = string(10, 10, r"\d{4}-\d\d-\d\d")
DISPATCH = Shape(
    optional={"trigger_actions_on": array(one_of("on_enter_pressed", "on_character_entered"), 2)},
)

ELEMENTS: dict[str, Shape] = {
    "button": Shape(
        required={"text": plain(75)},
        optional={
            "action_id": ACTION,
            "url": URL,
            "value": string(2000),
            "style": one_of("primary", "danger"),
            "confirm": CONFIRM,
            "accessibility_label": string(75),
        },
    ),
    "static_select": Shape(optional={**FIELD, **MENU, "initial_option": OPTION}),
    "multi_static_select": Shape(
        optional={**FIELD, **MENU, "initial_options": array(OPTION, 100), "max_selected_items": integer(1, 100)},
    ),
    "radio_buttons": Shape(
        required={"options": array(ITEM, 10)},
        optional={**COMMON, "initial_option": ITEM, "confirm": CONFIRM},
    ),
    "checkboxes": Shape(
        required={"options": array(ITEM, 10)},
        optional={**COMMON, "initial_options": array(ITEM, 10), "confirm": CONFIRM},
    ),
    "overflow": Shape(
        required={"options": array(LINK_OPTION, 5)},
        optional={"action_id": ACTION, "confirm": CONFIRM},
    ),
    "plain_text_input": Shape(
        optional={
            **FIELD,
            "initial_value": string(3000, 0),
            "multiline": boolean,
            "min_length": integer(0, 3000),
            "max_length": integer(1, 3000),
            "dispatch_action_config": DISPATCH,
        },
    ),
    "number_input": Shape(
        required={"is_decimal_allowed": boolean},
        optional={
            **FIELD,
            "initial_value": string(3000),
            "min_value": string(3000),
            "max_value": string(3000),
            "dispatch_action_config": DISPATCH,
        },
    ),
    "email_text_input": Shape(
        optional={**FIELD, "initial_value": string(3000), "dispatch_action_config": DISPATCH},
    ),
    "url_text_input": Shape(
        optional={**FIELD, "initial_value": string(3000), "dispatch_action_config": DISPATCH},
    ),
    "datepicker": Shape(optional={**FIELD, "initial_date": DATE, "confirm": CONFIRM}),
    "timepicker": Shape(
        optional={**FIELD, "initial_time": string(5, 5, r"\d\d:\d\d"), "timezone": string(50), "confirm": CONFIRM},
    ),
    "datetimepicker": Shape(
        optional={**COMMON, "initial_date_time": integer(10**9, 10**10 - 1), "confirm": CONFIRM},
    ),
    "users_select": Shape(optional={**FIELD, "initial_user": string(20), "confirm": CONFIRM}),
    "image": Shape(required=IMAGE),
}
TYPED = {"plain_text_input", "number_input", "email_text_input", "url_text_input"}
#: Where each element may stand; text inputs stand in input blocks alone.
IN_INPUT = ELEMENTS.keys() - {"button", "overflow", "image"}
IN_ACTIONS = ELEMENTS.keys() - TYPED - {"multi_static_select", "image"}
IN_SECTION = ELEMENTS.keys() - TYPED - {"datetimepicker"}


def element(kinds: frozenset[str] | set[str]) -> Check:
    def check(value: Any, pointer: str) -> Iterator[str]:
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(kind, str) or kind not in kinds:
            yield error(f"unsupported type: {kind}", f"{pointer}/type")
            return
        members = {name: member for name, member in value.items() if name != "type"}
        yield from ELEMENTS[kind](members, pointer)
        yield from menu_errors(kind, members, pointer)

    return check


def menu_errors(kind: str, members: dict[str, Any], pointer: str) -> Iterator[str]:
    """Yield what is wrong between the members of an element."""
    if kind in ("static_select", "multi_static_select") and ("options" in members) == ("option_groups" in members):
        yield error("needs either options or option_groups", pointer)
    options = members.get("options") if isinstance(members.get("options"), list) else None
    initial = members.get("initial_options", [])
    if "initial_option" in members:
        initial = [members["initial_option"]]
    if options is not None and isinstance(initial, list) and any(option not in options for option in initial):
        yield error("initial option must exactly match one of the provided options", pointer)
    if kind == "plain_text_input":
        most = members.get("max_length", 3000)
        if isinstance(most, int) and len(str(members.get("initial_value", ""))) > most:
            yield error("initial_value is longer than max_length", f"{pointer}/initial_value")
        if isinstance(most, int) and members.get("min_length", 0) > most:
            yield error("min_length is more than max_length", f"{pointer}/min_length")


def context_item(value: Any, pointer: str) -> Iterator[str]:
    if isinstance(value, dict) and value.get("type") == "image":
        yield from element({"image"})(value, pointer)
    else:
        yield from text(3000)(value, pointer)


def unchecked(value: Any, pointer: str) -> Iterator[str]:
    return iter(())


BLOCKS: dict[str, Shape] = {
    "header": Shape(required={"text": plain(150)}),
    "section": Shape(
        optional={
            "text": text(3000),
            "fields": array(text(2000), 10),
            "accessory": element(IN_SECTION),
            "expand": boolean,
        },
    ),
    "context": Shape(required={"elements": array(context_item, 10)}),
    "divider": Shape(),
    "actions": Shape(required={"elements": array(element(IN_ACTIONS), 25)}),
    "input": Shape(
        required={"label": plain(2000), "element": element(IN_INPUT)},
        optional={"hint": plain(2000), "optional": boolean, "dispatch_action": boolean},
    ),
    "image": Shape(required=IMAGE, optional={"title": plain(2000)}),
    "markdown": Shape(required={"text": string(12_000)}),
    "rich_text": Shape(required={"elements": array(unchecked, 1000)}),
}


def block(value: Any, pointer: str) -> Iterator[str]:
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(kind, str) or kind not in BLOCKS:
        yield error(f"unsupported type: {kind}", f"{pointer}/type")
        return
    shape = BLOCKS[kind]
    members = {name: member for name, member in value.items() if name != "type"}
    yield from Shape(shape.required, {**shape.optional, "block_id": string(255)})(members, pointer)
    if kind == "section" and not members.keys() & {"text", "fields"}:
        yield error("missing required field: text or fields", pointer)
    actions = [each["action_id"] for each in elements_of(value) if isinstance(each.get("action_id"), str)]
    for action, count in Counter(actions).items():
        if count > 1:
            yield error(f"`action_id` must be unique in its block: {action}", f"{pointer}/elements")


def elements_of(block: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the interactive elements of a block, in their order."""
    if block.get("type") == "actions" and isinstance(block.get("elements"), list):
        return [each for each in block["elements"] if isinstance(each, dict)]
    candidates = (block.get("element"), block.get("accessory"))
    return [each for each in candidates if isinstance(each, dict)]


def blocks_errors(blocks: Any, pointer: str, most: int) -> list[str]:
    """Return all that Slack would refuse in the blocks of a message (at most 50) or a modal (at most 100)."""
    errors = list(array(block, most, least=0)(blocks, pointer))
    if not isinstance(blocks, list):
        return errors
    members = [each for each in blocks if isinstance(each, dict)]
    ids = Counter(each["block_id"] for each in members if isinstance(each.get("block_id"), str))
    errors += [error(f"`block_id` must be unique: {name}", pointer) for name, count in ids.items() if count > 1]
    focused = [each for one in members for each in elements_of(one) if each.get("focus_on_load") is True]
    if len(focused) > 1:
        errors.append(error("only one element may have focus_on_load", pointer))
    return errors


def message_errors(blocks: Any) -> list[str]:
    return blocks_errors(blocks, "/blocks", 50)


def view_errors(view: Any) -> list[str]:
    """Return all that Slack would refuse in a modal."""
    if not isinstance(view, dict):
        return [error("must be an object", "/view")]
    shape = Shape(
        required={"type": one_of("modal"), "title": plain(24), "blocks": unchecked},
        optional={
            "close": plain(24),
            "submit": plain(24),
            "private_metadata": string(3000, 0),
            "callback_id": string(255),
            "external_id": string(255),
            "clear_on_close": boolean,
            "notify_on_close": boolean,
            "submit_disabled": boolean,
        },
    )
    errors = list(shape(view, "/view"))
    errors += blocks_errors(view.get("blocks"), "/view/blocks", 100)
    blocks = view.get("blocks")
    kinds = {each.get("type") for each in blocks if isinstance(each, dict)} if isinstance(blocks, list) else set()
    if "input" in kinds and "submit" not in view:
        errors.append(error("missing required field: submit", "/view"))
    if "markdown" in kinds:
        errors.append(error("unsupported type: markdown", "/view/blocks"))
    return errors
