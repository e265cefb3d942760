"""When a log-in is fresh enough for a request whose terms want a fresh one. Nothing is read or written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.sessions.backends.base import SessionBase
from django.utils import timezone

from approvals.access.fresh_sign_in import SignInAgain, refuse_old_sign_in
from approvals.access.permissions import needs_fresh_sign_in
from approvals.access.sessions import signed_in_at
from approvals.models import ApprovalRequest
from approvals.policy.terms import Terms
from approvals.states import Door, Kind, Priority

FRESH = Terms(fresh_sign_in=True).document()
OTHER = Terms(typed_name=True).document()
HOUR = 3600


@pytest.mark.parametrize(
    ("records", "seconds"),
    [
        ([{"method": "password", "at": 5}], 5),
        ([{"at": 5}, {"at": 9.5}, {"at": 7}], 9.5),
        ([{"at": "9"}, {"method": "password"}, "at", None, {"at": 5}], 5),
        ([{"at": None}], None),
        ([], None),
        ({"at": 5}, None),
        ([{"method": "password", "at": 9}, {"method": "mfa", "at": 5}], 5),
        ([{"method": "mfa", "at": 5}, {"method": "socialaccount", "at": 9}, {"method": "mfa", "at": 7}], 7),
        (None, None),
    ],
)
def test_someone_logged_in_when_the_youngest_record_of_their_session_says(records, seconds):
    session: Any = SessionBase()
    session["account_authentication_methods"] = records
    assert signed_in_at(session) == (seconds and datetime.fromtimestamp(seconds, UTC))


def test_a_session_that_says_nothing_of_a_log_in_has_no_time_of_one():
    assert signed_in_at(SessionBase()) is None


def refused(terms: dict[str, Any] | None, via: Door, minutes: int | None) -> str:
    """What someone is told who logged in so many minutes ago, or at no time that is known; empty if it is fresh enough."""
    at = None if minutes is None else timezone.now() - timedelta(minutes=minutes)
    request = ApprovalRequest(terms=terms)
    refusal = refuse_old_sign_in(request, at, via) if needs_fresh_sign_in(request) else None
    return "" if refusal is None else str(refusal)


@pytest.mark.parametrize("wanted", [(), ("critical",)])
def test_the_settings_can_want_a_fresh_log_in_for_critical_approvals(settings, wanted):
    settings.HITL_FRESH_SIGN_IN_FOR = wanted
    for request, needed in (
        (ApprovalRequest(kind=Kind.APPROVAL, priority=Priority.CRITICAL), bool(wanted)),
        (ApprovalRequest(kind=Kind.APPROVAL, priority=Priority.HIGH), False),
        (ApprovalRequest(kind=Kind.QUESTION, priority=Priority.CRITICAL), False),
    ):
        assert needs_fresh_sign_in(request) is needed


@pytest.mark.parametrize("via", [Door.DASHBOARD, Door.CHAT])
def test_in_a_browser_a_log_in_is_fresh_for_a_while(settings, via):
    settings.HITL_FRESH_SIGN_IN = HOUR
    again = "This request needs a fresh log-in. Log in again to decide it. Nothing was decided."
    assert [refused(FRESH, via, minutes) for minutes in (0, 30, 90, None)] == ["", "", again, again]


def test_a_log_in_is_fresh_up_to_the_last_moment(settings, monkeypatch):
    settings.HITL_FRESH_SIGN_IN = HOUR
    noon = datetime(2026, 3, 29, 12, tzinfo=UTC)
    monkeypatch.setattr(timezone, "now", lambda: noon)
    hour_ago = noon - timedelta(hours=1)
    request = ApprovalRequest(terms=FRESH)
    assert refuse_old_sign_in(request, hour_ago, Door.DASHBOARD) is None
    longer_ago = hour_ago - timedelta(microseconds=1)
    assert isinstance(refuse_old_sign_in(request, longer_ago, Door.DASHBOARD), SignInAgain)


def test_elsewhere_no_log_in_is_fresh():
    told = [refused(FRESH, Door.REST, minutes) for minutes in (0, None)]
    where = "This request needs a fresh log-in. Decide it on its own page in Pausepoint: http"
    assert [each[: len(where)] for each in told] == [where, where]


@pytest.mark.parametrize("terms", [None, OTHER])
def test_other_requests_need_no_fresh_log_in(terms):
    assert [refused(terms, via, None) for via in (Door.DASHBOARD, Door.REST)] == ["", ""]
