"""From values to what stands in a form's fields, and back: what is not touched comes back exactly as it was."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _

from approvals.asking.asks import ABSENT
from approvals.forms.fields import Control, Offer, Widget
from approvals.forms.from_schema import MAX_FIELDS, form_of
from approvals.runtime.canonical import NotCanonical, canonical, parse
from approvals.runtime.text import visible_name
from approvals.runtime.translation import translated

MAX_ROWS = 1_000
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?Z")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_NUMBER = re.compile(r"-?\d+([.,]\d+)?([eE][-+]?\d+)?")
_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}(,\d{3})+(\.\d*)?")


def edit_form(value: Mapping[str, Any], schema: Mapping[str, Any] | None, label: str) -> Control:
    """The form that changes a value: as its schema has it, and by the values themselves for what that does not say."""
    form = form_of(schema, label) if schema is not None else Control(widget=Widget.GROUP, label=label)
    if form.widget != Widget.GROUP:
        form = Control(widget=Widget.GROUP, label=label)
    groups = {child.path[-1]: child.widget == Widget.GROUP for child in form.children}
    least = sum(len(item) if isinstance(item, dict) and groups.get(name, True) else 1 for name, item in value.items())
    # Count first, to make no thousands of fields; and again with those that the schema adds.
    if least <= MAX_FIELDS:
        form = _bound(form, value)
        if sum(1 for leaf in form.leaves()) <= MAX_FIELDS:
            return form
    return Control(widget=Widget.JSON, label=label)


def _bound(control: Control, value: Any) -> Control:
    """The control that can hold this value: where its schema's cannot, one that can."""
    if value is ABSENT:
        return control
    if control.widget == Widget.GROUP and isinstance(value, dict):
        known = [(child, value.get(child.path[-1], ABSENT)) for child in control.children]
        names = {child.path[-1] for child in control.children}
        more = [name for name in value if name not in names]
        children = [_bound(child, item) for child, item in known]
        for number, name in enumerate(more, len(known)):
            children.append(_by_value(value[name], (*control.path, name), (*control.place, number)))
        return replace(control, children=tuple(children))
    if control.widget == Widget.LINE and control.input_type == "text" and isinstance(value, str):
        return replace(control, widget=Widget.LINES if re.search(r"[\r\n]", value) else Widget.LINE)
    return control if holds(control, value) else replace(control, widget=Widget.JSON, nullable=False)


def _by_value(value: Any, path: tuple[str, ...], place: tuple[int, ...]) -> Control:
    plain = Control(widget=Widget.JSON, label=visible_name(path[-1]), path=path, place=place)
    match value:
        case bool():
            return replace(plain, widget=Widget.CHOICE, offers=(Offer("true", True), Offer("false", False)))
        case int() | float():
            return replace(plain, widget=Widget.NUMBER)
        case str():
            return replace(plain, widget=Widget.LINES)
        case dict() if value and len(path) == 1:
            return _bound(replace(plain, widget=Widget.GROUP), value)
        case _:
            return plain


def holds(control: Control, value: Any) -> bool:
    """Whether the control's fields can show the value so that it comes back as it is."""
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
            return place_of(control, value) is not None
        case (Widget.SEVERAL, list()):
            places = [place_of(control, item) for item in value]
            return None not in places and sorted(set(places), key=str) == sorted(places, key=str)
        case (Widget.LIST, list()):
            assert control.item is not None
            fit = all(holds(control.item, item) and raw(control.item, item).strip() for item in value)
            return fit and len(value) <= MAX_ROWS
        case _:
            return False


def _is_of_type(input_type: str, value: str) -> bool:
    wanted = {"date": _DAY, "datetime-local": _MOMENT}.get(input_type)
    return wanted is None or wanted.fullmatch(value) is not None


def place_of(control: Control, value: Any) -> int | None:
    """Which of the offers a value is; None if it is none."""
    meant = canonical(value)
    return next((place for place, offer in enumerate(control.offers) if canonical(offer.value) == meant), None)


def raw(control: Control, value: Any) -> str:
    """A value as its field of text shows it."""
    if value is ABSENT or (value is None and control.widget != Widget.JSON):
        return ""
    if control.widget == Widget.NUMBER:
        return canonical(value).decode()
    if control.widget == Widget.JSON:
        return json.dumps(value, indent=2, ensure_ascii=False)
    return str(value).removesuffix("Z") if control.input_type == "datetime-local" else str(value)


@dataclass(frozen=True, slots=True)
class Reading:
    """Reads what a browser sent for a form. `errors` fills with what could not be read, by the names of values.

    `prefix` is what the names of the fields begin with, `about` what those of the errors begin with; `edits` says that
    there is a proposed value, to which nothing is added that nobody wrote.
    """

    data: QueryDict
    prefix: str
    about: str
    edits: bool = False
    errors: dict[str, str] = field(default_factory=dict)

    def read(self, control: Control, proposed: Any = ABSENT) -> Any:
        """The value that was sent, ABSENT for none; `proposed` itself where its fields were not touched."""
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
        if not control.required and proposed is ABSENT and not filled:
            # Nothing in it was filled in: there is no such object, and nothing is missing in it.
            for name in self.errors.keys() - known:
                del self.errors[name]
            return ABSENT
        # In the order of what was proposed: what only moved has not changed.
        return {name: found[name] for name in [*before, *(n for n in found if n not in before)] if name in found}

    def _choice(self, control: Control, proposed: Any) -> Any:
        sent = self.data.get(control.name(self.prefix), "")
        if sent == "":
            return self._nothing(control, proposed)
        place = _place(sent, len(control.offers))
        if place is None:
            return self._wrong(control, _("is not one of the options"))
        return control.offers[place].value

    def _several(self, control: Control, proposed: Any) -> Any:
        sent = self.data.getlist(control.name(self.prefix))
        places = {place for text in sent if (place := _place(text, len(control.offers))) is not None}
        if len(places) < len(set(sent)):
            return self._wrong(control, _("is not one of the options"))
        chosen = [control.offers[place].value for place in sorted(places)]
        if isinstance(proposed, list) and sorted(map(canonical, proposed)) == sorted(map(canonical, chosen)):
            return proposed
        return chosen if chosen or control.required or proposed is not ABSENT else ABSENT

    def _list(self, control: Control, proposed: Any) -> Any:
        assert control.item is not None
        sent = [lines(text) for text in self.data.getlist(control.name(self.prefix)) if text.strip()]
        if len(sent) > MAX_ROWS:
            return self._wrong(control, _("has more than %(most)s values") % {"most": f"{MAX_ROWS:,}"})
        if isinstance(proposed, list) and sent == [raw(control.item, item) for item in proposed]:
            return proposed
        found = []
        for number, text in enumerate(sent):
            try:
                found.append(_value(control.item, text))
            except NotCanonical as error:
                self.errors[f"{self._key(control)}.{number}"] = translated(error)
        return found if found or control.required or proposed is not ABSENT else ABSENT

    def _single(self, control: Control, proposed: Any) -> Any:
        name, shown = control.name(self.prefix), raw(control, proposed)
        if name not in self.data:
            return self._nothing(control, ABSENT)
        sent = str(self.data[name])
        text = lines(sent)
        if proposed is not ABSENT and text == lines(shown):
            # What was not touched must not look edited, whatever became of its line breaks or its large numbers.
            return proposed
        if not text.strip() and not (isinstance(proposed, str) and _may_be_empty(control)):
            return self._nothing(control, proposed)
        if control.widget == Widget.LINES and "\r\n" in shown:
            return sent
        try:
            return _value(control, text)
        except NotCanonical as error:
            return self._wrong(control, translated(error))

    def _nothing(self, control: Control, proposed: Any) -> Any:
        if control.nullable and (control.required or proposed is not ABSENT):
            return None
        return self._wrong(control, _("is missing")) if control.required else ABSENT

    def _wrong(self, control: Control, words: str) -> Any:
        self.errors[self._key(control)] = words
        return ABSENT

    def _key(self, control: Control) -> str:
        return ".".join([self.about, *control.path])


def _may_be_empty(control: Control) -> bool:
    """Whether an empty text is one of its texts: it is no date and no address."""
    return control.widget == Widget.LINES or control.input_type == "text"


def _value(control: Control, text: str) -> Any:
    """What a text that is not empty means in a field. NotCanonical."""
    match control.widget:
        case Widget.NUMBER:
            return _number(text)
        case Widget.JSON:
            return parse(text)
        case _ if control.input_type == "datetime-local":
            return (text if text.count(":") > 1 else f"{text}:00") + ("" if text.endswith("Z") else "Z")
        case _:
            return text


def lines(text: str) -> str:
    """Browsers send every line break as CRLF."""
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


def _place(sent: str, offered: int) -> int | None:
    if sent.isascii() and sent.isdigit() and len(sent) < 6 and int(sent) < offered:
        return int(sent)
    return None
