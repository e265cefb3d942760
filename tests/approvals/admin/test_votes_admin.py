"""Votes in the admin: read-only, with whose seat each of them took."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from approvals.models import Vote
from approvals.states import Verdict
from tests.support.desk.away import away
from tests.support.desk.pressing import browser
from tests.support.desk.scopes import again
from tests.support.desk.votes import both, group, make_team, make_voted, vote
from tests.support.markup import parse
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db
LIST = "/admin/approvals/vote/"


@pytest.fixture
def client():
    return browser(User.objects.create_superuser("root"))


@pytest.fixture
def votes() -> list[Vote]:
    """Dave votes for Bob, who is away, and Erin for herself."""
    absent, delegate, other = bob(), *(make_person(name, "decide_approvalrequest") for name in ("dave", "erin"))
    away(absent, delegate)
    request = make_voted(alice(), both(group(make_team("finance", absent)), group(other, votes=1)), title="Pay")
    vote(request, again(delegate))
    vote(request, other, Verdict.REJECT, comment="Not with key sk-ant-api03-" + "a" * 40)
    return list(Vote.objects.order_by("pk"))


def cells(html: str) -> list[list[str]]:
    (table,) = parse(html).find("tbody")
    return [[cell.words for cell in (*row.find("th"), *row.find("td"))][:8] for row in table.find("tr")]


def test_the_list_says_who_voted_in_whose_seat(client, votes):
    rows = [row[1:5] for row in cells(client.get(LIST).text)]
    assert rows == [["erin", "erin", "Rejected", "1"], ["dave", "bob", "Approved", "1"]]


def test_it_is_filtered_by_voter_and_by_who_was_away(client, votes):
    shown = [[row[1] for row in cells(client.get(f"{LIST}{query}").text)] for query in ("?person=erin", "?for=bob")]
    assert shown == [["erin"], ["dave"]]


def test_nothing_is_added_changed_or_deleted(client, votes):
    first = votes[0]
    changes = [
        client.get(f"{LIST}add/"),
        client.post(f"{LIST}{first.pk}/change/", {"verdict": "reject"}),
        client.post(f"{LIST}{first.pk}/delete/", {"post": "yes"}),
    ]
    assert [response.status_code for response in changes] == [403, 403, 403]
    assert list(Vote.objects.order_by("pk").values_list("verdict", flat=True)) == ["approve", "reject"]


def test_its_page_names_the_request_and_masks_secrets(client, votes):
    page = client.get(f"{LIST}{votes[1].pk}/change/").text
    assert f"/admin/approvals/approvalrequest/{votes[1].request_id}/change/" in page
    assert "sk-ant-api03" not in page


def test_whom_scopes_limit_and_who_has_no_right_see_nothing(votes):
    staff = make_person("stan", "decide_approvalrequest")
    staff.is_staff = True
    staff.save()
    assert browser(staff).get(LIST).status_code == 403
