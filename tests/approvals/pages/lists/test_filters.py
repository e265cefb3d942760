"""Any query string of the inbox shows a list or errors, and filters survive their query string."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import urlencode
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from approvals.access.standing import standing_of
from approvals.exceptions import Invalid
from approvals.queries import RequestCursor, WorkflowCursor, request_list
from approvals.queries.filters import AGES, CHECKS, GROUPS, STATUSES, Filters, ListCursor, filters_from
from approvals.states import Kind
from tests.support.people import bob

pytestmark = pytest.mark.django_db

MOMENT, KEY = "2026-11-21T12:00:00.000000Z", "00000000-0000-4000-8000-000000000005"


@given(
    st.builds(
        Filters,
        status=st.sampled_from(STATUSES),
        kind=st.sampled_from(["", *Kind.values]),
        tool=st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Z"]), max_size=20),
        q=st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Z"]), max_size=20),
        age=st.sampled_from(["", *AGES]),
        mine=st.sampled_from(["", "1"]),
        start=st.sampled_from(["", "2026-11-23"]),
        group=st.sampled_from(["", *GROUPS]),
        after=st.none()
        | st.builds(
            ListCursor,
            st.integers(0, 3),
            st.datetimes(datetime(1970, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - hypothesis wants it so
            st.uuids(),
            st.just("a,b"),
        ),
    )
)
def test_filters_survive_their_query_string(filters):
    assert filters_from(QueryDict(filters.query[1:])) == filters


@pytest.mark.parametrize(
    ("text", "cursor"),
    [
        (f"2,{MOMENT},{KEY},a,b", ListCursor(2, datetime(2026, 11, 21, 12, tzinfo=UTC), UUID(KEY), "a,b")),
        (f"{MOMENT},{KEY}", RequestCursor(datetime(2026, 11, 21, 12, tzinfo=UTC), UUID(KEY))),
        (f"1,{MOMENT},42", WorkflowCursor(1, datetime(2026, 11, 21, 12, tzinfo=UTC), 42)),
    ],
)
def test_a_cursor_in_an_address_keeps_its_form(text, cursor):
    assert (str(cursor), type(cursor).parse(text)) == (text, cursor)


@given(st.dictionaries(st.sampled_from([*CHECKS, "other"]), st.text(max_size=60), max_size=4))
def test_any_query_string_shows_a_list_or_errors(query):
    try:
        filters = filters_from(QueryDict(urlencode(query, errors="surrogatepass")))
    except Invalid as refusal:
        assert set(refusal.errors) <= {name[:40] for name in query}
    else:
        request_list.page_of(standing_of(_someone()), filters)
        request_list.count_of(standing_of(_someone()), filters)


def _someone():
    return User.objects.filter(username="bob").first() or bob()
