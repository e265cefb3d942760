"""What was read of an account, a key and a session makes a standing as a small model says. Nothing is read from a database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import given
from hypothesis import strategies as st

from approvals.access import rights
from approvals.access.scopes import NOWHERE
from approvals.access.standing import Standing, standing_under_lock, standing_with
from approvals.exceptions import NotAuthenticated, ScopeMissing
from approvals.models import ApiKey
from approvals.models.actors import Actor, KeyActor, SessionActor

PK = 5
NOW = datetime(2026, 3, 29, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
#: What limits no one by itself, so that what scopes leave need not be read.
ELSEWHERE = sorted(rights.ALL - {rights.DECIDE, rights.VIEW})

#: The content type and the name of a permission: other apps have permissions of the same names, and this one has others.
permissions = st.tuples(
    st.sampled_from(["7", "8", "9"]), st.sampled_from([*sorted(rights.ALL), "approvals.change_webhook"])
)
held = st.lists(permissions, max_size=4)


def row(**columns: Any) -> User:
    """Return a row with the columns of an active person without rights, but for those that are given."""
    plain = {"superuser": False, "scoped": False, "stands_in": False, "content_types": "7,8"}
    plain |= {"own_rights": None, "team_rights": None}
    account = User(pk=PK)
    vars(account).update({f"acting_{name}": value for name, value in {**plain, **columns}.items()})
    return account


def joined(pairs: list[tuple[str, str]]) -> str | None:
    """Return permissions as the database joins them: null for none."""
    return ",".join(f"{number}.{right.partition('.')[2]}" for number, right in pairs) or None


@given(held, held, st.sampled_from([{"7", "8"}, {"7"}, set()]), st.sampled_from([None, False, True]), st.booleans())
def test_rights_are_those_of_this_app_that_an_active_person_or_a_team_of_theirs_has(
    own, team, known, superuser, by_key
):
    types = ",".join(sorted(known)) or None
    read = row(own_rights=joined(own), team_rights=joined(team), content_types=types, superuser=superuser)
    expected = {right for number, right in own + team if number in known} & rights.ALL
    if superuser is not False:
        expected = rights.ALL if superuser else frozenset()
    assert standing_with(read, PK, by_key=by_key) == Standing(
        PK,
        is_active=superuser is not None,
        is_superuser=superuser is True,
        rights=frozenset(expected),
        by_key=by_key,
    )
    assert not [name for name in vars(read) if name.startswith("acting_")]


@given(st.lists(st.tuples(st.just("7"), st.sampled_from(ELSEWHERE)), max_size=3), st.sampled_from([None, False, True]))
def test_scopes_leave_nothing_to_whoever_may_not_see_what_others_ask_unless_they_ignore_scopes(own, superuser):
    standing = standing_with(row(own_rights=joined(own), superuser=superuser, scoped=True, stands_in=not superuser), PK)
    limited = superuser is False and ("7", rights.IGNORE_SCOPES) not in own
    assert (standing.reach, standing.away_for, standing.by_key) == (NOWHERE if limited else None, (), False)


def with_a_key(*scopes: str, until: datetime | None = None) -> KeyActor:
    return KeyActor(User(pk=PK), ApiKey(pk=1, scopes=list(scopes)), until)


def in_a_browser(until: datetime | None = None) -> SessionActor:
    return SessionActor(User(pk=PK), "abc", until)


@pytest.mark.parametrize(
    ("actor", "columns"),
    [
        (with_a_key("ask", "read"), {"key_scopes": ["read", "ask", "decide"]}),
        (with_a_key(until=NOW + SECOND), {"key_scopes": []}),
        (in_a_browser(), {"lives": True}),
        (in_a_browser(NOW + SECOND), {"lives": True}),
        (User(pk=PK), {}),
        (User(pk=PK), {"superuser": None}),
    ],
)
def test_who_acts_under_a_lock_has_the_standing_of_that_moment(actor, columns):
    by_key, is_active = isinstance(actor, KeyActor), "superuser" not in columns
    expected = Standing(PK, is_active=is_active, by_key=by_key)
    assert standing_under_lock(row(**columns), actor, NOW) == expected


@pytest.mark.parametrize(
    ("actor", "columns"),
    [
        (with_a_key("ask"), {"key_scopes": None}),
        (with_a_key(), {"key_scopes": [], "superuser": None}),
        (with_a_key(until=NOW), {"key_scopes": []}),
        (in_a_browser(), {"lives": False}),
        (in_a_browser(), {"lives": True, "superuser": None}),
        (in_a_browser(NOW), {"lives": True}),
        (in_a_browser(NOW - SECOND), {"lives": True}),
    ],
)
def test_who_acts_through_what_has_ended_is_not_logged_in(actor: Actor, columns: dict[str, Any]):
    with pytest.raises(NotAuthenticated, match="Your session or key has ended"):
        standing_under_lock(row(**columns), actor, NOW)


def test_a_key_that_was_narrowed_lacks_the_first_scope_that_went():
    with pytest.raises(ScopeMissing, match="“decide”"):
        standing_under_lock(row(key_scopes=["ask"]), with_a_key("read", "ask", "decide"), NOW)
