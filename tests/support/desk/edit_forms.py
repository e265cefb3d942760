"""Edit forms as browsers send them."""

from __future__ import annotations

import re
from typing import Any

from django.http import QueryDict

from approvals.asking.answers import ABSENT
from approvals.forms.fields import FormControl, Widget
from approvals.forms.texts import index_of, text_for
from approvals.forms.values import edit_form, entered_in, texts_of_row


def untouched(value: dict[str, Any], schema: dict[str, Any] | None) -> QueryDict:
    """Return the edit form of a value as a browser sends it unchanged, with line breaks as CRLF."""
    data = QueryDict(mutable=True)
    data["verdict"] = "edit"
    for leaf in edit_form(value, schema, "Input").leaves():
        item: Any = value
        for name in leaf.path:
            item = item.get(name, ABSENT) if isinstance(item, dict) else ABSENT
        _fill(data, leaf, item)
    return data


def _fill(data: QueryDict, leaf: FormControl, item: Any) -> None:
    name = leaf.name("input")
    match leaf.widget:
        case Widget.FIXED:
            return
        case Widget.CHOICE | Widget.SEVERAL:
            items = item if leaf.widget == Widget.SEVERAL and isinstance(item, list) else [item]
            data.setlist(name, [str(index_of(leaf, one)) for one in items if one is not ABSENT])
        case Widget.LIST:
            assert leaf.item is not None
            data.setlist(name, [text_for(leaf.item, one) for one in ([] if item is ABSENT else item)] + ["", ""])
        case Widget.ROWS:
            assert leaf.item is not None
            columns = entered_in(leaf.item)
            rows = [texts_of_row(leaf.item, each) for each in ([] if item is ABSENT else item)] + [[""] * len(columns)]
            for column, texts in zip(columns, zip(*rows, strict=True), strict=True):
                data.setlist(column.name("input"), [_as_sent(text) for text in texts])
        case _:
            data[name] = _as_sent(text_for(leaf, item))


def _as_sent(text: str) -> str:
    return re.sub("\r\n|\r|\n", "\r\n", text)
