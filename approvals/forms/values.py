"""Convert values to form fields and back. Values whose fields are not changed come back exactly as they were."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from approvals.asking.answers import ABSENT
from approvals.forms.fields import Control, Offer, Widget
from approvals.forms.from_schema import LONG_TEXT, MAX_FIELDS, form_from_schema
from approvals.runtime.canonical import NotCanonical, canonical, parse
from approvals.runtime.cursors import number_from
from approvals.runtime.text import visible_name
from approvals.runtime.translation import translated

MAX_ROWS = 1_000
#: Digits of an option's index.
MAX_DIGITS = 5
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?Z")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_NUMBER = re.compile(r"-?\d+([.,]\d+)?([eE][-+]?\d+)?")
_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")


def edit_form(value: Mapping[str, Any], schema: Mapping[str, Any] | None, label: str) -> Control:
    """Return the form that changes a value, built from its schema, and from the value where the schema says nothing."""
    form = form_from_schema(schema, label) if schema is not None else Control(widget=Widget.GROUP, label=label)
    if form.widget != Widget.GROUP:
        form = Control(widget=Widget.GROUP, label=label)
    groups = {child.path[-1]: child.widget == Widget.GROUP for child in form.children}
    least = sum(len(item) if isinstance(item, dict) and groups.get(name, True) else 1 for name, item in value.items())
    # Count before building, to avoid thousands of fields, and again afterwards, because the schema may add some.
    if least <= MAX_FIELDS:
        form = _bound(form, value)
        if sum(1 for leaf in form.leaves()) <= MAX_FIELDS:
            return form
    return Control(widget=Widget.JSON, label=label)


def _bound(control: Control, value: Any) -> Control:
    """Return a control that can hold this value: the given one if it can, else another."""
    if value is ABSENT:
        # A default was not proposed: who changes another field must not add it.
        return replace(control, default=ABSENT, children=tuple(_bound(child, ABSENT) for child in control.children))
    if control.widget == Widget.GROUP and isinstance(value, dict):
        known = [(child, value.get(child.path[-1], ABSENT)) for child in control.children]
        names = {child.path[-1] for child in control.children}
        more = [name for name in value if name not in names]
        children = [_bound(child, item) for child, item in known]
        for number, name in enumerate(more, len(known)):
            children.append(_by_value(value[name], (*control.path, name), (*control.place, number)))
        return replace(control, children=tuple(children))
    if control.widget in {Widget.LINE, Widget.LINES} and control.input_type == "text" and isinstance(value, str):
        return replace(control, widget=_text_widget(value))
    return control if can_hold(control, value) else replace(control, widget=Widget.JSON, nullable=False)


def _by_value(value: Any, path: tuple[str, ...], place: tuple[int, ...]) -> Control:
    plain = Control(widget=Widget.JSON, label=visible_name(path[-1]), path=path, place=place)
    match value:
        case bool():
            return replace(plain, widget=Widget.CHOICE, offers=(Offer("true", True), Offer("false", False)))
        case int() | float():
            return replace(plain, widget=Widget.NUMBER)
        case str():
            return replace(plain, widget=_text_widget(value))
        case dict() if value and len(path) == 1:
            return _bound(replace(plain, widget=Widget.GROUP), value)
        case _:
            return plain


def _text_widget(value: str) -> Widget:
    """Return the field for a text: one line, unless it has several or would not fit."""
    return Widget.LINES if re.search(r"[\r\n]", value) or len(value) > LONG_TEXT else Widget.LINE


def can_hold(control: Control, value: Any) -> bool:
    """Whether the control's fields can show the value so that it comes back unchanged."""
    if value is None and control.widget in {Widget.LINE, Widget.LINES, Widget.NUMBER}:
        return control.nullable
    match control.widget, value:
        case (Widget.LINE, str()):
            return not re.search(r"[\r\n]", value) and _is_of_type(control.input_type, value)
        case (Widget.LINES, str()) | (Widget.JSON, _) | (Widget.GROUP, dict()):
            return True
        case (Widget.NUMBER, int() | float()):
            return not isinstance(value, bool)
        case (Widget.CHOICE | Widget.FIXED, _):
            return index_of(control, value) is not None
        case (Widget.SEVERAL, list()):
            indexes = [index_of(control, item) for item in value]
            return None not in indexes and sorted(set(indexes), key=str) == sorted(indexes, key=str)
        case (Widget.LIST, list()):
            assert control.item is not None
            fit = all(can_hold(control.item, item) and text_for(control.item, item).strip() for item in value)
            return fit and len(value) <= MAX_ROWS
        case _:
            return False


def _is_of_type(input_type: str, value: str) -> bool:
    wanted = {"date": _DAY, "datetime-local": _MOMENT}.get(input_type)
    return wanted is None or wanted.fullmatch(value) is not None


def index_of(control: Control, value: Any) -> int | None:
    """Return the index of a value among the offers; None if it is not one of them."""
    wanted = canonical(value)
    return next((index for index, offer in enumerate(control.offers) if canonical(offer.value) == wanted), None)


def text_for(control: Control, value: Any) -> str:
    """Return a value as the text of its field."""
    if value is ABSENT or (value is None and control.widget != Widget.JSON):
        return ""
    if control.widget == Widget.NUMBER:
        return canonical(value).decode()
    if control.widget == Widget.JSON:
        return json.dumps(value, indent=2, ensure_ascii=False)
    return str(value).removesuffix("Z") if control.input_type == "datetime-local" else str(value)


@dataclass(frozen=True, slots=True)
class Reading:
    """Reads what a browser sent for a form, and collects in `errors` what could not be read.

    Field names begin with `prefix`, keys of errors with `about`. `edits` says that a proposed value is changed: nothing is added
    to it that the person did not enter.
    """

    data: QueryDict
    prefix: str
    about: str
    edits: bool = False
    errors: dict[str, str] = field(default_factory=dict)

    def read(self, control: Control, proposed: Any = ABSENT) -> Any:
        """Return the value that was sent, or ABSENT; `proposed` itself if its fields were not changed."""
        match control.widget:
            case Widget.GROUP:
                return self._group(control, proposed)
            case Widget.FIXED:
                return proposed if self.edits else control.offers[0].value
            case Widget.CHOICE:
                return self._choice(control, proposed)
            case Widget.SEVERAL:
                return self._several(control, proposed)
            case Widget.LIST:
                return self._list(control, proposed)
            case _:
                return self._single(control, proposed)

    def _group(self, control: Control, proposed: Any) -> Any:
        before = proposed if isinstance(proposed, dict) else {}
        known = set(self.errors)
        read = {child.path[-1]: self.read(child, before.get(child.path[-1], ABSENT)) for child in control.children}
        found = {name: value for name, value in read.items() if value is not ABSENT}
        fixed = {child.path[-1] for child in control.children if child.widget == Widget.FIXED}
        filled = {name for name, value in found.items() if name not in fixed and value != []}
        if not filled and not self._keeps_empty(control, proposed):
            # No field of the group was filled in, so the object is absent and nothing in it is missing.
            for name in self.errors.keys() - known:
                del self.errors[name]
            return ABSENT
        # Keep the order of the proposed value, so that moved keys do not look like changes.
        return {name: found[name] for name in [*before, *(n for n in found if n not in before)] if name in found}

    def _choice(self, control: Control, proposed: Any) -> Any:
        sent = self.data.get(control.name(self.prefix), "")
        if sent == "":
            return self._nothing(control, proposed)
        index = _parse_index(sent, len(control.offers))
        if index is None:
            return self._error(control, _("is not one of the options"))
        return control.offers[index].value

    def _several(self, control: Control, proposed: Any) -> Any:
        sent = self.data.getlist(control.name(self.prefix))
        indexes = {index for text in sent if (index := _parse_index(text, len(control.offers))) is not None}
        if len(indexes) < len(set(sent)):
            return self._error(control, _("is not one of the options"))
        chosen = [control.offers[index].value for index in sorted(indexes)]
        if isinstance(proposed, list) and sorted(map(canonical, proposed)) == sorted(map(canonical, chosen)):
            return proposed
        return chosen if chosen or self._keeps_empty(control, proposed) else ABSENT

    def _list(self, control: Control, proposed: Any) -> Any:
        assert control.item is not None
        sent = [normalize_newlines(text) for text in self.data.getlist(control.name(self.prefix)) if text.strip()]
        if len(sent) > MAX_ROWS:
            return self._error(control, _("has more than %(most)s values") % {"most": f"{MAX_ROWS:,}"})
        if isinstance(proposed, list) and sent == [text_for(control.item, item) for item in proposed]:
            return proposed
        found = []
        for number, text in enumerate(sent):
            try:
                found.append(_value(control.item, text))
            except NotCanonical as error:
                self.errors[f"{self._key(control)}.{number}"] = translated(error)
        return found if found or self._keeps_empty(control, proposed) else ABSENT

    def _single(self, control: Control, proposed: Any) -> Any:
        name, shown = control.name(self.prefix), text_for(control, proposed)
        if name not in self.data:
            return self._nothing(control, ABSENT)
        sent = str(self.data[name])
        text = normalize_newlines(sent)
        if proposed is not ABSENT and text == normalize_newlines(shown):
            # A field that was not changed must not look edited, even if line breaks or large numbers read differently.
            return proposed
        if not text.strip() and not (isinstance(proposed, str) and _may_be_empty(control)):
            return self._nothing(control, proposed)
        if control.widget == Widget.LINES and "\r\n" in shown:
            return sent
        try:
            return _value(control, text)
        except NotCanonical as error:
            return self._error(control, translated(error))

    def _nothing(self, control: Control, proposed: Any) -> Any:
        if control.nullable and self._keeps_empty(control, proposed):
            return None
        return self._error(control, _("is missing")) if control.required else ABSENT

    def _keeps_empty(self, control: Control, proposed: Any) -> bool:
        """Whether an empty list, object or null is a value: if one was proposed, or if an answer has to have one."""
        return proposed is not ABSENT or (control.required and not self.edits)

    def _error(self, control: Control, words: str) -> Any:
        self.errors[self._key(control)] = words
        return ABSENT

    def _key(self, control: Control) -> str:
        return ".".join([self.about, *control.path])


def _may_be_empty(control: Control) -> bool:
    """Whether an empty text is a valid value, as it is not for dates and addresses."""
    return control.widget == Widget.LINES or control.input_type == "text"


def _value(control: Control, text: str) -> Any:
    """Return the value of a non-empty text. Raise NotCanonical if it has none."""
    match control.widget:
        case Widget.NUMBER:
            return _number(text)
        case Widget.JSON:
            return parse(text)
        case _ if control.input_type == "datetime-local":
            return (text if text.count(":") > 1 else f"{text}:00") + ("" if text.endswith("Z") else "Z")
        case _:
            return text


def normalize_newlines(text: str) -> str:
    """Return the text with `\\n` as its line breaks; browsers send CRLF."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _number(text: str) -> int | float:
    if _THOUSANDS.fullmatch(text.strip()):
        raise NotCanonical(_("is ambiguous; write it without a thousands separator"))
    try:
        value = parse(text.strip().replace(",", "."))
    except NotCanonical as error:
        if _NUMBER.fullmatch(text.strip()):
            raise NotCanonical(_("is too large or too precise for a number")) from error
        value = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise NotCanonical(_("must be a number"))


def _parse_index(sent: str, offered: int) -> int | None:
    index = number_from(sent, digits=MAX_DIGITS)
    return index if index is not None and index < offered else None
