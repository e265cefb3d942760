"""JSON columns return the same values in the same order of keys on every database."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from approvals.models import OutboxEvent
from approvals.states import Kind
from tests.support.desk.requests import make_request, stored
from tests.support.people import alice

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=10)


def as_written(value: Any) -> str:
    """1 and 1.0, 0.0 and -0.0, and two orders of keys are equal to Python, and not here."""
    return json.dumps(value)


def kept(value: Any) -> Any:
    now = timezone.now()
    row = OutboxEvent.objects.create(
        event_id=uuid4(),
        name="tool.result",
        stream="s",
        sequence=1,
        channel="handler",
        target="t",
        payload=value,
        created_at=now,
        next_attempt_at=now,
    )
    return OutboxEvent.objects.values_list("payload", flat=True).get(pk=row.pk)


class TestWhatIsStored(TestCase):
    @given(VALUES.filter(lambda value: value is not None))
    @example({"b": 1, "a": 2, "": {"z": [], "y": {}}})
    @example([1e300, 1e-300, -0.0, 0.0, 1.0, 1, 2**53 - 1, -(2**53) + 1])
    @example({"NUL \x00": "\x00", "line\u2028": "\U0001f600 \\u0041 \"'"})
    @example([None, [], {}, "", "null", False])
    @example("")
    @example([])
    def test_comes_back_as_it_was(self, value):
        assert as_written(kept(value)) == as_written(value)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("value", "is_sql_null"), [(None, True), ("null", False), ([None], False), ({"a": None}, False)]
)
def test_only_an_absent_value_is_sql_null(value, is_sql_null):
    request = make_request(alice(), Kind.QUESTION, context=value)
    assert stored(request).context == value
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM approvals_approvalrequest WHERE context IS NULL")
        assert cursor.fetchone() == (int(is_sql_null),)
    assert type(request).objects.filter(context__isnull=True).count() == int(is_sql_null)
