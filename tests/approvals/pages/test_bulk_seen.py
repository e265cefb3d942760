"""Content never in view on the page of a bulk decision is unseen: the person is told, and the audit log records it."""

from __future__ import annotations

from typing import Any

import pytest

from approvals.models import ApprovalRequest, AuditEntry, Decision
from approvals.states import Verdict
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request, stored
from tests.support.desk.votes import both, group, vote, with_terms
from tests.support.markup import Element, parse
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

CONTEXT = {"ticket": 7, "customer": "Ada"}


def pick(request: ApprovalRequest) -> str:
    return f"{request.pk}:{request.voted_digest}"


def send(client, requests, **more):
    return client.post("/requests/bulk/", {"pick": [pick(one) for one in requests], "verdict": "approve", **more})


def places(page: Element, name: str = "") -> list[str]:
    """Return the parts that a page reports if all of it was in view, or only the part with this name."""
    parts = [part for tag in ("div", "tbody") for part in page.find(tag, class_="bulk-part")]
    return [
        " ".join(
            [
                part.attributes["id"],
                *(one.attributes["data-view"] for one in part.all() if "data-view" in one.attributes),
            ]
        )
        for part in parts
        if name in part.attributes["id"]
    ]


def unseen(request: ApprovalRequest) -> Any:
    return AuditEntry.objects.get(event="request.decided", request_id=request.pk).data.get("unseen")


def asked(owner, **changes) -> list[ApprovalRequest]:
    """Return two requests that differ in values and contexts."""
    return [
        make_request(
            owner,
            tool_name="refund",
            **{"input": {"amount": amount, "currency": "EUR"}, "context": {"ticket": amount}} | changes,
        )
        for amount in (5, 6)
    ]


def test_without_a_report_nothing_was_seen_and_the_page_says_so():
    owner, client = alice(), browser(bob())
    long = make_request(owner, input={"text": "x" * 5_000}, message="All fine.", tool_name="mail")
    short = make_request(owner, input={"amount": 1}, context=CONTEXT, tool_name="refund")
    (note,) = parse(send(client, [long, short]).text).find("p", class_="bulk-unwatched")
    assert "The audit log will show everything that you approve here as unseen." in note.words
    assert send(client, [long, short], confirmed="yes").status_code == 200
    assert unseen(long) == {"parts": 2, "values": 1, "characters": len("All fine.")}
    assert unseen(short) == {"parts": 3, "values": 3, "characters": 0}
    assert [decision.unseen for decision in Decision.objects.order_by("unseen")] == [2, 3]


def test_what_was_in_view_was_seen_also_where_it_is_shown_once_for_all():
    client = browser(bob())
    requests = asked(alice())
    page = parse(send(client, requests).text)
    assert send(client, requests, confirmed="yes", viewed=places(page)).status_code == 200
    assert [unseen(one) for one in requests] == [None, None]
    assert {decision.unseen for decision in Decision.objects.all()} == {0}


def test_changed_lines_are_seen_with_their_line_and_folded_ones_when_opened():
    owner, client = alice(), browser(bob())
    texts = ["\n".join(f"line {number} of {name}" for number in range(60)) for name in "ab"]
    requests = [
        make_request(owner, tool_name="Edit", input={"file_path": "a.py", "old_string": "", "new_string": text})
        for text in texts
    ]
    page = parse(send(client, requests).text)
    assert len(page.find("div", class_="edit-lines")) == 4
    assert "Parts of these requests are folded" in page.find("p", class_="note")[0].words
    viewed = places(page)
    closed = [" ".join(place for place in part.split() if not place.endswith("+")) for part in viewed]
    assert send(client, requests, confirmed="yes", viewed=closed).status_code == 422
    assert send(client, requests, confirmed="yes", viewed=viewed).status_code == 200
    assert [unseen(one) for one in requests] == [None, None]


def test_a_line_that_was_in_view_says_nothing_about_another():
    client = browser(bob())
    first, second = requests = asked(alice())
    page = parse(send(client, requests).text)
    viewed = places(page, "same") + places(page, f"line-{first.pk}")
    refused = send(client, requests, confirmed="yes", viewed=viewed)
    warning = parse(refused.text).find("div", class_="refusal")[0]
    assert (refused.status_code, warning.words) == (
        422,
        "You haven't seen 3 values in 1 request yet. Look at the rest, or press again to approve unseen.",
    )
    assert [stored(one).status for one in requests] == ["pending"] * 2
    assert send(client, requests, confirmed="yes", viewed=viewed, unread="accepted").status_code == 200
    assert (unseen(first), unseen(second)) == (None, {"parts": 3, "values": 3, "characters": 0})


def test_after_the_warning_the_page_knows_what_was_seen_and_chosen_before():
    client = browser(bob())
    first, second = requests = asked(alice(), message="As agreed.")
    report = places(parse(send(client, requests).text), f"line-{first.pk}")
    sent = {"confirmed": "yes", "viewed": report, "offered": [pick(one) for one in requests]}
    page = parse(send(client, [first], **sent).text)
    (line,) = page.find("tbody", id=f"line-{first.pk}")
    assert {*line.attributes["data-seen"].split()} == {*report[0].split()[1:]}
    boxes = {box.attributes["value"]: "checked" in box.attributes for box in page.find("input", type="checkbox")}
    assert boxes == {pick(first): True, pick(second): False}
    assert page.find("button", class_="primary")[0].words == "Approve 1 request"
    assert [field.attributes["value"] for field in page.find("input", name="unread")] == ["accepted"]


def test_what_was_the_same_in_all_stays_seen_if_one_of_them_was_decided_meanwhile():
    client, erin = browser(bob()), browser(make_person("erin", "decide_approvalrequest"))
    requests = asked(alice(), message="As agreed.")
    viewed = places(parse(send(client, requests).text))
    send(erin, requests[:1], confirmed="yes")
    assert send(client, requests, confirmed="yes", viewed=viewed).status_code == 200
    assert unseen(requests[1]) is None


def test_long_texts_that_begin_alike_are_whole_on_the_page_and_seen_with_it():
    owner, client = alice(), browser(bob())
    requests = [
        make_request(owner, tool_name="mail", input={"body": "word " * 2_000 + end}) for end in ("Yours", "Mine")
    ]
    page = parse(send(client, requests).text)
    assert page.find("details", class_="fold") == []
    send(client, requests, confirmed="yes", viewed=places(page))
    assert [unseen(one) for one in requests] == [None, None]


def test_a_fold_that_was_not_opened_and_values_that_the_page_leaves_out_are_unseen():
    owner, client = alice(), browser(bob())
    folded = make_request(owner, tool_name="mail", input={"body": "x" * 5_000})
    many = make_request(owner, tool_name="many", input={f"v{number}": number for number in range(510)})
    page = parse(send(client, [folded, many]).text)
    viewed = [" ".join(place for place in report.split() if not place.endswith("+")) for report in places(page)]
    assert send(client, [folded, many], confirmed="yes", viewed=viewed).status_code == 422
    send(client, [folded, many], confirmed="yes", viewed=viewed, unread="accepted")
    assert (unseen(folded)["characters"], unseen(many)) == (999, {"parts": 1, "values": 10, "characters": 0})


def test_a_vote_in_bulk_records_what_was_unseen():
    request = make_request(alice(), tool_name="refund", input={"amount": 1})
    with_terms(request, both(group(votes=2)))
    vote(request, make_person("erin", "decide_approvalrequest"), Verdict.APPROVE)
    send(browser(bob()), [request], confirmed="yes")
    entries = AuditEntry.objects.filter(request_id=request.pk)
    # Of the vote, and of the decision that it completes.
    assert [entry.data["unseen"] for entry in entries if "unseen" in entry.data] == [
        {"parts": 1, "values": 1, "characters": 0}
    ] * 2


def test_a_rejection_asks_for_no_look_and_records_nothing_as_unseen():
    request = make_request(alice(), context={"ticket": 7})
    shown = send(browser(bob()), [request], verdict="reject", confirmed="yes", viewed=[""])
    assert (shown.status_code, unseen(request)) == (200, None)


@pytest.mark.parametrize("viewed", ["", "line-x", "line-x a b", "\x00", "same- +"])
def test_a_report_that_names_nothing_known_counts_as_nothing_seen(viewed):
    request = make_request(alice(), tool_name="refund", input={"amount": 1})
    assert send(browser(bob()), [request], confirmed="yes", viewed=[viewed]).status_code == 422


@pytest.mark.parametrize("offered", ["x", [f"00000000-0000-0000-0000-{number:012}:" for number in range(51)]])
def test_offered_requests_that_are_none_or_too_many_are_refused(offered):
    request = make_request(alice(), tool_name="refund", input={"amount": 1})
    assert send(browser(bob()), [request], offered=offered).status_code == 422


def test_outliers_are_left_out_stand_first_and_say_why():
    owner = alice()
    amounts = [60, 61, 62, 63, 64, 50_000, 65]
    requests = [
        make_request(owner, title=f"r{number}", tool_name="refund", input={"amount": amount, "currency": "EUR"})
        for number, amount in enumerate(amounts)
    ]
    page = parse(send(browser(bob()), requests).text)
    first, *others = page.find("tbody", class_="bulk-line")
    assert first.find("p", class_="bulk-outlier")[0].words == (
        "amount is 50,000, far from the others (median 63). Not included until you select it."
    )
    boxes = [line.find("input", type="checkbox")[0] for line in (first, *others)]
    assert ["checked" in box.attributes for box in boxes] == [False, *[True] * 6]
    assert boxes[0].attributes["value"] == pick(requests[5])
    assert page.find("button", class_="primary")[0].words == "Approve 6 requests"


def test_a_rejection_leaves_no_outlier_out():
    owner = alice()
    requests = [make_request(owner, tool_name="refund", input={"amount": amount}) for amount in (1, 2, 3, 50_000)]
    page = parse(send(browser(bob()), requests, verdict="reject").text)
    assert [box for box in page.find("input", type="checkbox") if "checked" not in box.attributes] == []
    assert page.find("p", class_="bulk-unwatched") == []
