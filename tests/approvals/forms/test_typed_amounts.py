"""Number fields are read as the page shows numbers: in answers, edits, settings and filters."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.forms import Field
from django.http import QueryDict
from django.utils.translation import gettext, override

from approvals.administration.scopes.forms import ScopeForm
from approvals.administration.tools.forms import ToolForm
from approvals.exceptions import Invalid
from approvals.forms.decision import sent_decision
from approvals.forms.from_schema import form_from_schema
from approvals.forms.texts import text_for
from approvals.models import ApprovalRequest
from approvals.queries.audit_filters import audit_filters_from
from approvals.schema.check import schema_errors
from approvals.states import Kind
from tests.support.desk.edit_forms import untouched

AMBIGUOUS = "is ambiguous; write it without a thousands separator"
LIMIT = {"type": "number", "x-currency": "EUR", "minimum": 0.5, "maximum": 2_000_000}
PRICE = {"type": "string", "x-currency": "EUR"}
NUMBERS = {"type": "array", "items": LIMIT}


def answered(schema: dict, text: str) -> object:
    """Return the answer that is sent for a text in a field of this schema, or the error at the field."""
    form = {"type": "object", "properties": {"limit": schema}, "required": ["limit"]}
    request = ApprovalRequest(kind=Kind.FORM, response_schema=form)
    data = QueryDict(mutable=True)
    data.update({"verdict": "respond", "answer.limit": text})
    try:
        answer = sent_decision(request, data).answer["limit"]
    except Invalid as refusal:
        return next(iter(refusal.errors.values()))
    return answer


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.500,00", 1500),
        ("1.234.567", 1234567),
        ("1500,5", 1500.5),
        ("0.125", 0.125),
        ("1,125", 1.125),
        ("1\u202f500,5", 1500.5),
    ],
)
def test_a_number_typed_in_german_is_read_as_it_is_written_there(text, value):
    with override("de"):
        assert answered(LIMIT | {"minimum": 0}, text) == value


@pytest.mark.parametrize("schema", [LIMIT, PRICE], ids=["number", "text"])
def test_one_that_could_be_a_thousandth_is_refused(schema):
    with override("de"):
        assert [answered(schema, text) for text in ("1.500", "12.000")] == [gettext(AMBIGUOUS)] * 2
    with override("en"):
        assert answered(schema, "1,500") == AMBIGUOUS


def test_the_same_amounts_as_text_are_sent_as_programs_write_them():
    with override("de"):
        assert [answered(PRICE, text) for text in ("1.500,00", "1500,5", "12", "to be agreed")] == [
            "1500.00",
            "1500.5",
            "12",
            "to be agreed",
        ]


def test_each_number_of_a_list_is_read_the_same_way():
    with override("de"):
        assert answered(NUMBERS, "1.500,00") == [1500]
        assert answered(NUMBERS, "1.500") == gettext(AMBIGUOUS)


def test_fields_and_limits_show_numbers_as_they_are_typed():
    with override("de"):
        control = form_from_schema({"type": "object", "properties": {"limit": LIMIT, "price": PRICE}}, "")
        limit, price = control.children
        texts = (text_for(limit, 12.345), text_for(limit, 1e21), text_for(price, "12.50"), text_for(price, "v1.2"))
        assert texts == ("12,345", "1e+21", "12,50", "v1.2")
        assert "0,5" in limit.limits
        assert "0,5" in schema_errors(LIMIT, 0.1, plain=True)[""]


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_an_edit_form_that_was_not_changed_keeps_each_number(language):
    value = {"small": 12.345, "price": "12.345", "list": [1.5, 2.345]}
    schema = {"type": "object", "properties": {"small": LIMIT, "price": PRICE, "list": NUMBERS}}
    request = ApprovalRequest(kind=Kind.APPROVAL, input=value, response_schema=schema)
    with override(language):
        assert sent_decision(request, untouched(value, schema)).edited_input == value


def test_limits_of_scopes_and_tools_are_read_and_shown_the_same_way():
    limit, uses = ScopeForm.base_fields["limit"], ToolForm.base_fields["grant_uses"]
    with override("de"):
        assert [limit.clean(text) for text in ("1.500,50", "1500,5", "0.125", "")] == [1500.5, 1500.5, 0.125, None]
        assert limit.widget.get_context("limit", 1500.5, {})["widget"]["value"] == "1500,5"
        assert uses.clean("12") == 12
    with override("en"):
        assert [problem(limit, text) for text in ("1,500", "1_000", "nan", "-1")] == [
            "This number is ambiguous. Write it without a thousands separator.",
            "Enter a number.",
            "Enter a number.",
            "Ensure this value is greater than or equal to 0.",
        ]
        assert [problem(uses, text) for text in ("1,000", "1.5", "0")] == [
            "This number is ambiguous. Write it without a thousands separator.",
            "Enter a whole number.",
            "Ensure this value is greater than or equal to 1.",
        ]


def problem(field: Field, text: str) -> str:
    with pytest.raises(ValidationError) as refusal:
        field.clean(text)
    return " ".join(refusal.value.messages)


@pytest.mark.parametrize("language", ["en", "de"])
def test_amounts_of_the_audit_filter_are_read_by_the_page_and_kept_for_every_reader(language):
    with override(language):
        filters = audit_filters_from(QueryDict("amount_from=1.500,00&amount_to=2000,5"))
        assert (filters.amounts, filters.query) == (
            [(">=", 1500.0), ("<=", 2000.5)],
            "?amount_from=1500.00&amount_to=2000.5",
        )


def test_an_address_with_an_amount_says_the_same_in_every_language():
    with override("de"):
        filters = audit_filters_from(QueryDict("amount_from=12,345"))
        assert (filters.amounts, filters.typed_amounts["amount_from"]) == ([(">=", 12.345)], "12,3450")
        with pytest.raises(Invalid):
            audit_filters_from(QueryDict("amount_from=1.500"))
    with override("en"):
        assert audit_filters_from(QueryDict(filters.query[1:])) == filters
