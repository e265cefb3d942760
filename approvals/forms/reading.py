"""Read submitted forms. Values of unchanged fields are returned exactly as they were."""

from __future__ import annotations

import base64
import operator
from dataclasses import dataclass, field
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _

from approvals.asking.answers import ABSENT
from approvals.asking.attachments import MAX_BYTES
from approvals.db.canonical_json import NotCanonical, canonical
from approvals.db.cursors import number_from
from approvals.forms.fields import FieldCondition, FormControl, Widget
from approvals.forms.texts import parse_amount, parse_json, parse_number, text_for
from approvals.forms.values import MAX_ROWS, entered_in, texts_of_row
from approvals.json_types import JsonDict, JsonMapping
from approvals.schema.check import MAX_STEPS, fits
from approvals.text.numbers import grouped
from approvals.text.secrets import Hidden
from approvals.text.text import normalize_newlines
from approvals.text.translation import translated
from approvals.text.true_values import TrueValues, with_true_values

#: Maximum digits of an option's index.
MAX_DIGITS = 5


@dataclass(frozen=True, slots=True)
class Reading:
    """Reads a submitted form, and collects the errors of unreadable fields in `errors`.

    Field names begin with `prefix`, keys of errors with `about`. `edits`: a proposed value is being edited, and nothing is added
    that the person did not enter. The conditions of cases use the values in `known` for hidden ones.
    """

    data: QueryDict
    prefix: str
    about: str
    edits: bool = False
    known: TrueValues = field(default_factory=dict)
    files: MultiValueDict[str, UploadedFile[Any]] = field(
        default_factory=MultiValueDict
    )
    errors: dict[str, str] = field(default_factory=dict)
    #: Remaining steps for the conditions of cases.
    steps: list[int] = field(default_factory=lambda: [MAX_STEPS])

    def read(self, control: FormControl, proposed: Any = ABSENT) -> Any:
        """Return the submitted value, or ABSENT; `proposed` itself if its fields were not changed."""
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
            case Widget.ROWS:
                return self._rows(control, proposed)
            case Widget.FILE:
                return self._file(control)
            case Widget.SHAPES:
                shape = self._shape(control)
                return ABSENT if shape is None else self.read(shape)
            case _:
                return self._single(control, proposed)

    def _group(self, control: FormControl, proposed: Any) -> Any:
        before = proposed if isinstance(proposed, dict) else {}
        known = set(self.errors)
        values = self._members(control, before, {})
        fixed = {
            child.path[-1] for child in control.children if child.widget == Widget.FIXED
        }
        filled = {
            name for name, value in values.items() if name not in fixed and value != []
        }
        if not filled and not self._keeps_empty(control, proposed):
            # No field of the group was filled in, so the object is absent and nothing in it is missing.
            for name in self.errors.keys() - known:
                del self.errors[name]
            return ABSENT
        # Keep the order of the proposed value, so that moved keys do not look like changes.
        return {
            name: values[name]
            for name in [*before, *(n for n in values if n not in before)]
            if name in values
        }

    def _members(
        self, group: FormControl, before: JsonMapping, values: JsonDict
    ) -> JsonDict:
        """Add the members of an object to its `values`, including those of the chosen shape and of cases that apply.

        Input for other shapes and cases is ignored.
        """
        for child in group.children:
            if not child.merged:
                value = self.read(child, before.get(child.path[-1], ABSENT))
                if value is not ABSENT:
                    values[child.path[-1]] = value
            elif child.widget == Widget.SHAPES:
                shape = self._shape(child)
                if shape is not None:
                    self._members(shape, before, values)
            elif child.when is not None and self._applies(child.when, values):
                self._members(child, before, values)
        return values

    def _applies(self, when: FieldCondition, values: JsonMapping) -> bool:
        return (
            fits(
                when.schema, when.root, with_true_values(values, self.known), self.steps
            )
            != when.negated
        )

    def _shape(self, control: FormControl) -> FormControl | None:
        sent = self.data.get(control.name(self.prefix), "")
        if sent == "":
            self._nothing(control, ABSENT)
            return None
        index = _parse_index(sent, len(control.children))
        if index is None:
            self._error(control, _("is not one of the options"))
            return None
        return control.children[index]

    def _file(self, control: FormControl) -> Any:
        """Return a file in the API's form; if it is too large, just enough of it to be refused."""
        sent = self.files.get(control.name(self.prefix))
        if sent is None:
            return self._nothing(control, ABSENT)
        return {
            "name": str(sent.name),
            "content": base64.b64encode(sent.read(MAX_BYTES + 1)).decode(),
        }

    def _choice(self, control: FormControl, proposed: Any) -> Any:
        sent = self.data.get(control.name(self.prefix), "")
        if sent == "":
            return self._nothing(control, proposed)
        try:
            return _value(control, sent)
        except NotCanonical as error:
            return self._error(control, translated(error))

    def _several(self, control: FormControl, proposed: Any) -> Any:
        sent = self.data.getlist(control.name(self.prefix))
        indexes = {
            index
            for text in sent
            if (index := _parse_index(text, len(control.offers))) is not None
        }
        if len(indexes) < len(set(sent)):
            return self._error(control, _("is not one of the options"))
        chosen = [control.offers[index].value for index in sorted(indexes)]
        if isinstance(proposed, list) and sorted(map(canonical, proposed)) == sorted(
            map(canonical, chosen)
        ):
            return proposed
        return chosen if chosen or self._keeps_empty(control, proposed) else ABSENT

    def _list(self, control: FormControl, proposed: Any) -> Any:
        assert control.item is not None
        sent = [
            normalize_newlines(text)
            for text in self.data.getlist(control.name(self.prefix))
            if text.strip()
        ]
        if len(sent) > MAX_ROWS:
            return self._error(
                control,
                _("has more than %(most)s values") % {"most": grouped(MAX_ROWS)},
            )
        if isinstance(proposed, list) and sent == [
            text_for(control.item, item) for item in proposed
        ]:
            return proposed
        values = []
        for number, text in enumerate(sent):
            try:
                values.append(_value(control.item, text))
            except NotCanonical as error:
                self.errors[f"{self._key(control)}.{number}"] = translated(error)
        return values if values or self._keeps_empty(control, proposed) else ABSENT

    def _rows(self, control: FormControl, proposed: Any) -> Any:
        assert control.item is not None
        row = control.item
        before = proposed if isinstance(proposed, list) else []
        columns = entered_in(row)
        sent = [
            [
                normalize_newlines(text)
                for text in self.data.getlist(each.name(self.prefix))
            ]
            for each in columns
        ]
        if len({len(texts) for texts in sent}) > 1:
            return self._error(control, _("was not sent completely; reload the page"))
        if before and not any(each.name(self.prefix) in self.data for each in columns):
            # A page rendered before an update had another field for it: an untouched value must not become empty.
            return self._error(control, _("was not sent completely; reload the page"))
        rows = [
            list(texts)
            for texts in zip(*sent, strict=True)
            if any(text.strip() for text in texts)
        ]
        if len(rows) > MAX_ROWS:
            return self._error(
                control,
                _("has more than %(most)s values") % {"most": grouped(MAX_ROWS)},
            )
        left = [
            (list(map(normalize_newlines, texts_of_row(row, item))), item)
            for item in before
        ]
        same = {number: _take_same(left, texts) for number, texts in enumerate(rows)}
        values = [
            same[number]
            if same[number] is not ABSENT
            else self._row(control, number, texts, _take_closest(left, texts))
            for number, texts in enumerate(rows)
        ]
        return values if values or self._keeps_empty(control, proposed) else ABSENT

    def _row(
        self,
        control: FormControl,
        number: int,
        texts: list[str],
        before: JsonDict,
    ) -> JsonDict:
        """Return the object of a row with these texts; unchanged members are as they were `before`."""
        assert control.item is not None
        value = dict(before)
        sent = iter(texts)
        for column in control.item.children:
            name = column.path[-1]
            text = "" if column.widget == Widget.FIXED else next(sent)
            if name in before and (
                column.widget == Widget.FIXED or text == _shown(column, before[name])
            ):
                continue
            try:
                if column.widget == Widget.FIXED:
                    value[name] = column.offers[0].value
                elif text.strip():
                    value[name] = _value(column, text)
                else:
                    value.pop(name, None)
                    if column.required:
                        raise NotCanonical(_("is missing"))
            except NotCanonical as error:
                self.errors[f"{self._key(control)}.{number}.{name}"] = translated(error)
        return value

    def _single(self, control: FormControl, proposed: Any) -> Any:
        name = control.name(self.prefix)
        shown = text_for(control, proposed)
        if name not in self.data:
            return self._nothing(control, ABSENT)
        sent = str(self.data[name])
        text = normalize_newlines(sent)
        if proposed is not ABSENT and text == normalize_newlines(shown):
            # An unchanged field must not look edited, even if line breaks or large numbers are read differently.
            return proposed
        if not text.strip() and not (
            isinstance(proposed, str) and _may_be_empty(control)
        ):
            return self._nothing(control, proposed)
        if control.widget == Widget.LINES and "\r\n" in shown:
            return sent
        try:
            if isinstance(proposed, Hidden) and not proposed.is_text:
                return parse_number(text)
            return _value(control, text)
        except NotCanonical as error:
            return self._error(control, translated(error))

    def _nothing(self, control: FormControl, proposed: Any) -> Any:
        if control.nullable and self._keeps_empty(control, proposed):
            return None
        return self._error(control, _("is missing")) if control.required else ABSENT

    def _keeps_empty(self, control: FormControl, proposed: Any) -> bool:
        """Return whether an empty list, object or null counts as a value: if proposed, or if an answer needs one."""
        return proposed is not ABSENT or (control.required and not self.edits)

    def _error(self, control: FormControl, message: str) -> Any:
        self.errors[self._key(control)] = message
        return ABSENT

    def _key(self, control: FormControl) -> str:
        return ".".join([self.about, *control.path])


#: Earlier rows, each with the texts of its fields.
_Rows = list[tuple[list[str], Any]]


def _take_same(left: _Rows, texts: list[str]) -> Any:
    """Remove and return the first row with these texts, or ABSENT. Rows that look the same are distinguished by order."""
    at = next((at for at, (known, _item) in enumerate(left) if known == texts), None)
    return ABSENT if at is None else left.pop(at)[1]


def _take_closest(left: _Rows, texts: list[str]) -> JsonDict:
    """Remove and return the row with most of these texts; empty if none has any of them."""
    alike = [sum(map(operator.eq, known, texts)) for known, _item in left]
    if not any(alike):
        return {}
    item = left.pop(alike.index(max(alike)))[1]
    return item if isinstance(item, dict) else {}


def _shown(control: FormControl, value: Any) -> str:
    return normalize_newlines(text_for(control, value))


def _may_be_empty(control: FormControl) -> bool:
    """Return whether an empty text is a valid value, which it is not for dates and addresses."""
    return control.widget == Widget.LINES or control.input_type == "text"


def _value(control: FormControl, text: str) -> Any:
    """Return the value of a non-empty text. Raise NotCanonical if it has none."""
    match control.widget:
        case Widget.NUMBER:
            return parse_number(text)
        case Widget.JSON:
            return parse_json(text)
        case Widget.CHOICE:
            index = _parse_index(text, len(control.offers))
            if index is None:
                raise NotCanonical(_("is not one of the options"))
            return control.offers[index].value
        case Widget.LINE if control.unit:
            return parse_amount(text)
        case _ if control.input_type == "datetime-local":
            return (text if text.count(":") > 1 else f"{text}:00") + (
                "" if text.endswith("Z") else "Z"
            )
        case _:
            return text


def _parse_index(sent: str, offered: int) -> int | None:
    index = number_from(sent, digits=MAX_DIGITS)
    return index if index is not None and index < offered else None
