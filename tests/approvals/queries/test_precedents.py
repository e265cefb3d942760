"""Earlier decisions on the same tool: the latest, same title first, and only those that a person may see."""

from __future__ import annotations

import pytest
from django.db import connection

from approvals.access.standing import standing_of
from approvals.models import ApprovalRequest
from approvals.queries.precedents import precedents_of
from approvals.states import Kind, Verdict
from tests.support.desk.pressing import browser
from tests.support.desk.requests import cancel, decide, make_request, stored
from tests.support.markup import parse
from tests.support.people import alice, bob, carol, mallory

pytestmark = pytest.mark.django_db


def asked(owner, title="May I?", **changes):
    return make_request(owner, **{"tool_name": "refund", "title": title} | changes)


def titles(found):
    return [one.title for one in found.listed] if found else None


def test_latest_decisions_are_listed_same_title_first():
    owner, decider = alice(), bob()
    for title in ("a", "b", "c", "May I?", "d", "e"):
        decide(asked(owner, title), decider, Verdict.REJECT if title == "b" else Verdict.APPROVE)
    cancel(asked(owner, "withdrawn"), owner)
    for other in ({"tool_name": "other"}, {"kind": Kind.RECOVERY}, {"tool_name": ""}):
        decide(asked(owner, "elsewhere", **other), decider, Verdict.APPROVE)
    asked(owner, "open")
    found = precedents_of(standing_of(decider), asked(owner))
    assert titles(found) == ["May I?", "withdrawn", "e", "d", "c"]
    assert (found.counts, found.total) == ([("Approved", 5), ("Cancelled", 1), ("Rejected", 1)], 7)


def test_people_see_only_decisions_they_may_see():
    owner, decider, auditor, stranger = alice(), bob(), carol(), mallory()
    decide(asked(stranger, "Mallory's"), decider, Verdict.APPROVE)
    decide(asked(owner, "Alice's"), decider, Verdict.APPROVE)
    request = asked(owner)
    seen = [titles(precedents_of(standing_of(person), request)) for person in (decider, auditor, owner, stranger)]
    assert seen == [["Alice's", "Mallory's"], ["Alice's", "Mallory's"], ["Alice's"], ["Mallory's"]]


def test_request_is_not_its_own_precedent():
    owner, decider = alice(), bob()
    request = asked(owner)
    decide(request, decider, Verdict.APPROVE)
    assert precedents_of(standing_of(decider), stored(request)) is None
    decide(asked(owner, tool_name=""), decider, Verdict.APPROVE)
    assert precedents_of(standing_of(decider), asked(owner, tool_name="")) is None


def test_page_lists_earlier_decisions_with_who_and_why():
    owner, decider = alice(), bob()
    decide(asked(owner, "Before"), decider, Verdict.REJECT, comment="No <b>photos</b>.")
    request = asked(owner)
    page = parse(browser(decider).get(request.get_absolute_url()).text)
    (section,) = page.find("section", class_="precedents")
    assert section.find("h2")[0].words == "Earlier decisions on refund"
    assert section.find("li")[0].words.startswith("Before Rejected amount 120 orderId 4711 same values bob")
    assert "“No <b>photos</b>.”" in section.words
    # Those of a decided request may be later than its own.
    decide(request, decider, Verdict.APPROVE)
    page = parse(browser(decider).get(request.get_absolute_url()).text)
    assert page.find("section", class_="precedents")[0].find("h2")[0].words == "Other decisions on refund"


def test_an_earlier_decision_shows_its_values_as_approved_and_links_to_the_difference():
    owner, decider = alice(), bob()
    past = asked(owner, "Before", input={"amount": 100, "note": "a\nb"})
    decide(past, decider, Verdict.EDIT, edited_input={"amount": 80, "note": "a\nc"})
    same = asked(owner, "Same", input={"amount": 120, "note": "a\nb"})
    decide(same, decider, Verdict.APPROVE)
    request, client = asked(owner, input={"amount": 120, "note": "a\nb"}), browser(decider)
    (section,) = parse(client.get(request.get_absolute_url()).text).find("section", class_="precedents")
    assert [one.words for one in section.find("dl", class_="past-values")] == [
        "amount 120 note a b",
        "amount 80 note a c",
    ]
    (link,) = [one for one in section.find("a") if one.words == "Difference Before"]
    page = parse(client.get(link.attributes["href"]).text)
    rows = [[cell.words for cell in row.all() if cell.tag in {"th", "td"}] for row in page.find("tr")]
    assert (rows[:2], rows[2][0]) == ([["Value", "Then", "Now"], ["amount", "80", "120"]], "note")
    assert [one.words for one in page.find("del")] + [one.words for one in page.find("ins")] == ["80", "c", "120", "b"]


def test_a_difference_is_shown_only_to_who_may_see_both_and_only_from_a_decision():
    owner, decider = alice(), bob()
    past, waiting, hidden = asked(owner), asked(owner), asked(mallory())
    for request in (past, hidden):
        decide(request, decider, Verdict.APPROVE)
    client, statuses = browser(owner), {}
    for name, other in {"past": past, "waiting": waiting, "hidden": hidden}.items():
        statuses[name] = client.get(f"{waiting.get_absolute_url()}difference/{other.pk}/").status_code
    assert statuses == {"past": 200, "waiting": 404, "hidden": 404}


def test_precedents_are_found_by_an_index():
    owner = alice()
    found = (
        ApprovalRequest.objects.filter(canonical_tool="refund").exclude(status="pending").order_by("-changed_at")[:50]
    )
    decide(asked(owner), bob(), Verdict.APPROVE)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # Of one row, any index and a sort are as cheap.
            cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
    assert "request_latest_tool" in found.explain()
