"""The figures of the insights page against manual counts, by reader, and their queries."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from approvals.access.standing import standing_of
from approvals.asking.asks import words_to_read
from approvals.models import ApprovalRequest, Decision
from approvals.queries.attention.signs import own_signs, signs_of_all
from approvals.queries.insights import figures
from approvals.queries.insights.figures import PERIODS, ages_for, insights_for
from approvals.queries.insights.values import Measure, duration
from approvals.states import OUTCOMES, Kind, Verdict
from tests.hitlsite.pages.test_query_counts import of_page
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request, make_workflow
from tests.support.markup import inline_code, parse
from tests.support.people import alice, bob, carol, make_person, mallory

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 21, 12, 0, 0, tzinfo=UTC)


def past(
    owner: User,
    verdict: Verdict,
    seconds: float,
    *,
    by: User | None = None,
    days_ago: float = 1,
    tool: str = "refund",
    kind: Kind = Kind.APPROVAL,
    words: int | None = None,
    agent: str = "support",
    name: str = "",
    via: str = "dashboard",
) -> ApprovalRequest:
    """Create a request that ended at a time, some seconds after it was created."""
    at = NOW - timedelta(days=days_ago)
    more = {"allow_text": True} if kind == Kind.QUESTION else {}
    made = make_request(owner, kind, tool_name=tool, workflow=make_workflow(owner, agent=agent), **more)
    asked = at - timedelta(seconds=seconds)
    ApprovalRequest.objects.filter(pk=made.pk).update(
        status=OUTCOMES[verdict], created_at=asked, changed_at=at, words=words
    )
    Decision.objects.create(
        request_id=made.pk,
        verdict=verdict,
        by_id=by.pk if by else None,
        by_name=name or (by.username if by else ""),
        via=via,
        decided_at=at,
    )
    return made


def total(user: User, days: int = 30) -> Measure:
    return insights_for(standing_of(user), days=days, now=NOW).total


def nearest(times: list[float], part: float) -> float:
    """Return the percentile by nearest rank."""
    return sorted(times)[math.ceil(part * len(times)) - 1]


def test_figures_of_a_month_match_manual_counts():
    owner, by = alice(), bob()
    for verdict, seconds in [("approve", 10), ("approve", 20), ("edit", 30), ("reject", 400)]:
        past(owner, Verdict(verdict), seconds, by=by)
    past(owner, Verdict.RESPOND, 50, by=owner, kind=Kind.QUESTION, tool="", agent="ops")
    past(owner, Verdict.REJECT, 60, by=owner, kind=Kind.QUESTION, tool="", agent="ops")
    past(owner, Verdict.EXPIRE, 9000)
    past(owner, Verdict.CANCEL, 70, by=owner)
    found = insights_for(standing_of(by), days=30, now=NOW)
    measure = found.total
    assert (measure.ended, measure.decided) == (8, 6)
    assert (measure.approved, measure.edited, measure.rejected, measure.approval_rate) == (2, 1, 1, 75)
    assert (measure.answered, measure.declined, measure.expired, measure.cancelled) == (1, 1, 1, 1)
    assert (round(measure.median, 3), round(measure.p95, 3)) == (30, 400)
    assert [(one.name, one.decided) for one in found.tools.measures] == [("refund", 4), ("", 2)]
    assert [(one.name, one.decided) for one in found.agents.measures] == [("support", 4), ("ops", 2)]
    assert [(one.name, one.decided, round(one.median)) for one in found.people.measures] == [
        ("bob", 4, 20),
        ("alice", 2, 50),
    ]
    days = {one.name: one.ended for one in found.per_day}
    assert (len(days), days["2026-11-20"], sum(days.values())) == (30, 8, 8)


@pytest.mark.parametrize("count", [1, 2, 3, 19, 20, 21, 40])
def test_median_and_p95_use_nearest_rank(count):
    owner, by = alice(), bob()
    times = [((7 * number) % count) * 1.5 + 0.25 for number in range(count)]
    for seconds in times:
        past(owner, Verdict.APPROVE, seconds, by=by)
    found = total(by)
    assert (round(found.median, 3), round(found.p95, 3)) == (nearest(times, 0.5), nearest(times, 0.95))


def test_times_of_one_tool_are_compared_across_days_verdicts_and_people():
    owner, by, other = alice(), bob(), make_person("dora", "decide_approvalrequest")
    times = {"refund": [40, 10, 30, 20, 50], "Refund": [5], "mail": [7]}
    for tool, seconds in times.items():
        for place, each in enumerate(seconds):
            verdict = Verdict.REJECT if place % 2 else Verdict.APPROVE
            past(owner, verdict, each, by=(by, other)[place % 2], days_ago=1 + place, tool=tool)
    past(owner, Verdict.EXPIRE, 1_000)
    found = insights_for(standing_of(by), days=30, now=NOW)
    rows = [(row.ended, round(row.median), round(row.p95)) for row in (*found.tools.measures, *found.people.measures)]
    assert rows == [(7, 20, 50), (1, 7, 7), (5, 30, 50), (2, 10, 20)]
    assert [measure.ended for measure in found.per_day if measure.ended] == [1, 1, 1, 1, 4]


def test_period_begins_with_a_whole_day():
    owner, by = alice(), bob()
    for days_ago in (0, 6, 6.4, 7, 29, 31, 89, 91):
        past(owner, Verdict.APPROVE, 5, by=by, days_ago=days_ago)
    assert [total(by, days).ended for days in PERIODS] == [3, 5, 7]


def test_hasty_decisions_are_counted():
    owner, by = alice(), bob()
    for place, (words, seconds) in enumerate([(400, 99), (400, 101), (4, 0.5), (4, 2), (None, 0.1)]):
        past(owner, Verdict.APPROVE, seconds, by=by, words=words, days_ago=1 + place)
    past(owner, Verdict.EXPIRE, 1, words=4000)
    assert (total(by).readable, total(by).hasty, total(by).hasty_rate) == (4, 2, 50)


def test_faster_than_reading_means_the_same_in_insights_and_in_how_you_decide():
    owner, by = alice(), bob()
    administrator = make_person("root", "administer", "view_approvalrequest")
    # All were asked long before; a minute, a second and nothing lie between the decisions.
    for seconds in (0, 60, 62, 62.5, 64):
        past(owner, Verdict.APPROVE, 9_000, by=by, words=40, days_ago=2 - seconds / 86_400)
    insights, everyone = total(administrator), signs_of_all(since=NOW - timedelta(days=30))
    own = own_signs(by, since=NOW - timedelta(days=30))
    counts = {(each.hasty, each.readable) for each in (insights, everyone, own)}
    assert counts == {(2, 4)}
    # The one before it counts also where the viewer does not see it, and where it is outside the period.
    stranger = mallory()
    last = past(owner, Verdict.APPROVE, 9_000, by=by, words=40, days_ago=2 - 66 / 86_400)
    ApprovalRequest.objects.filter(pk=last.pk).update(assigned_to=stranger)
    assert (total(stranger).hasty, total(stranger).readable) == (1, 1)


def test_programs_rules_and_grants_are_no_people():
    owner, by = alice(), bob()
    past(owner, Verdict.APPROVE, 100, by=by, words=4)
    for verdict in (Verdict.APPROVE, Verdict.EDIT, Verdict.REJECT):
        past(owner, verdict, 0, by=by, words=400, days_ago=2, name="API key ci of bob", via="rest")
        past(owner, verdict, 0, words=400, days_ago=2, via="rule")
    measure = total(by)
    assert (measure.ended, measure.decided, measure.automatic) == (7, 1, 6)
    assert (measure.approved, measure.edited, measure.rejected, measure.settled) == (1, 0, 0, 0)
    assert (round(measure.median), measure.readable, measure.hasty) == (100, 1, 0)
    assert [one.name for one in insights_for(standing_of(by), days=30, now=NOW).people.measures] == ["bob"]


def test_words_are_counted_when_a_request_is_created():
    made = make_request(
        alice(), title="Pay it?", message="Two **words**", input={"to": "Jane Doe", "amounts": [1, 2.5, None]}
    )
    assert made.words == len(["Pay", "it", "Two", "words", "to", "Jane", "Doe", "amounts", "1", "2.5"])


def test_the_words_of_a_question_are_counted_once():
    title, message = "Which one?", "Which one? The red or the blue?"
    asked = {"title": title, "message": message, "input": {"question": message}, "allow_text": True}
    owner = alice()
    made = make_request(owner, Kind.QUESTION, options=[{"label": "Red", "description": "a warm one"}], **asked)
    assert made.words == len(["Which", "one", "The", "red", "or", "the", "blue", "Red", "a", "warm", "one"])
    alone = make_request(owner, Kind.QUESTION, title=title, input={"question": title}, allow_text=True)
    assert alone.words == len(["Which", "one"])


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_words_of_any_value_are_counted(value):
    assert words_to_read(value, "one more") == words_to_read(value) + 2


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "\N{EN DASH}"),
        (0.04, "0.0 s"),
        (9.9, "9.9 s"),
        (59.4, "59 s"),
        (60, "1 min 0 s"),
        (7260, "2 h 1 min"),
        (200_000, "2 d 7 h"),
    ],
)
def test_durations_show_their_two_largest_units(seconds, words):
    assert duration(seconds) == words


def test_waiting_requests_are_counted_by_age():
    owner, by = alice(), bob()
    for minutes in (1, 4, 6, 90, 60 * 25, 60 * 24 * 8):
        made = make_request(owner)
        ApprovalRequest.objects.filter(pk=made.pk).update(created_at=NOW - timedelta(minutes=minutes))
    found = ages_for(standing_of(by), now=NOW)
    assert (found.counts, found.total, found.oldest) == ([2, 1, 1, 1, 1], 6, NOW - timedelta(days=8))
    assert ages_for(standing_of(mallory()), now=NOW).total == 0


def test_insights_work_without_requests():
    for user in (alice(), bob()):
        found = insights_for(standing_of(user), days=7, now=NOW)
        assert (found.total, found.tools.measures, found.capped) == (Measure(name="", ended=0), [], False)
        assert browser(user).get("/insights/").status_code == 200


def test_insights_of_others_cover_their_own_and_assigned_requests():
    owner, by, auditor, stranger = alice(), bob(), carol(), mallory()
    past(owner, Verdict.APPROVE, 5, by=by)
    handed = past(by, Verdict.APPROVE, 5, by=by, tool="pay")
    ApprovalRequest.objects.filter(pk=handed.pk).update(assigned_to=stranger)
    past(by, Verdict.REJECT, 5, by=by)
    assert [total(user).ended for user in (owner, by, auditor, stranger)] == [1, 3, 3, 1]
    assert [one.name for one in insights_for(standing_of(stranger), days=30, now=NOW).tools.measures] == ["pay"]
    User.objects.filter(pk=by.pk).update(is_active=False)
    assert total(User.objects.get(pk=by.pk)).ended == 0


def test_page_says_when_figures_are_capped(monkeypatch):
    monkeypatch.setattr(figures, "LIMIT", 3)
    owner, by = alice(), bob()
    for days_ago in (1, 2, 3, 4):
        past(owner, Verdict.APPROVE, 5, by=by, days_ago=days_ago)
    found = insights_for(standing_of(by), days=7, now=NOW)
    assert (found.capped, found.total.ended) == (True, 3)
    assert [one.ended for one in found.per_day] == [1, 1, 1, 0]


def test_rare_names_are_left_out_and_counted(monkeypatch):
    monkeypatch.setattr(figures, "TOP", 2)
    owner, by = alice(), bob()
    for tool in ("a", "a", "b", "b", "c", "d"):
        past(owner, Verdict.APPROVE, 5, by=by, tool=tool)
    found = insights_for(standing_of(by), days=7, now=NOW).tools
    assert ([one.name for one in found.measures], found.names) == (["a", "b"], 4)


@pytest.mark.parametrize("period", PERIODS)
def test_period_is_in_the_address(period):
    page = parse(browser(bob()).get("/insights/", {"days": period}).text)
    (chosen,) = [one for one in page.find("a", class_="button") if "aria-current" in one.attributes]
    assert (chosen.attributes["href"], chosen.words) == (f"?days={period}", f"{period} days")
    (sheet,) = [one for one in page.find("a") if one.words == "CSV"]
    assert sheet.attributes["href"] == f"/insights/csv/?days={period}"


@pytest.mark.parametrize("days", ["", "8", "-7", "seven", "7\x00", "\u0667", "9" * 50])
def test_unknown_period_is_refused(days):
    client = browser(bob())
    for address in ("/insights/", "/insights/csv/"):
        refused = client.get(address, {"days": days})
        assert (refused.status_code, "Insights are available for 7, 30, or 90 days." in refused.text) == (422, True)


def test_insights_need_a_login_and_only_get():
    client = browser(bob())
    for address in ("/insights/", "/insights/csv/"):
        assert Client().get(address).headers["Location"] == f"/login/?next={address}"
        assert client.post(address).status_code == 405


def test_a_name_full_of_markup_is_shown_as_it_is():
    owner, by = alice(), bob()
    name = "<script>alert(1)</script>"
    made = make_request(owner, tool_name=name)
    Decision.objects.create(
        request_id=made.pk, verdict="approve", by_id=by.pk, by_name=name, via="rest", decided_at=timezone.now()
    )
    page = browser(by).get("/insights/").text
    assert inline_code(page) == []
    assert [one.words for one in parse(page).find("th", scope="row") if "alert" in one.words] == [name, name]


@pytest.mark.parametrize("rows", [10, 60])
def test_insights_take_constant_queries(rows):
    owner, by = alice(), bob()
    for number in range(rows):
        past(owner, Verdict.APPROVE, number, by=by, tool=f"tool-{number}")
        make_request(owner)
    assert of_page(User.objects.get(pk=by.pk), "/insights/") == 5 + 1
    assert of_page(owner, "/insights/") == 5 + 1


def test_latest_requests_are_found_by_an_index():
    query = figures._ended(standing_of(bob()), NOW - timedelta(days=7))
    explained = query.explain()
    assert connection.vendor != "sqlite" or "decision_age" in explained
