"""Bulk decisions: the preview, the outcomes, and the exclusions."""

from __future__ import annotations

from collections import Counter

import pytest

from approvals.access.standing import standing_of
from approvals.models import ApprovalRequest, Decision
from approvals.pages import bulk, bulk_orders
from approvals.states import Kind, Priority, Verdict
from tests.approvals.actions.test_races import race
from tests.support.desk.pressing import browser, decision
from tests.support.desk.requests import PAST, decide, events, make_request, stored
from tests.support.markup import forms, parse
from tests.support.people import alice, bob, carol, make_person

pytestmark = pytest.mark.django_db

#: The title of a request that the decider may not see.
ABSENT = "\u2013"
OTHER = "sha256:" + "0" * 64


def pick(request: ApprovalRequest, digest: str = "") -> str:
    return f"{request.pk}:{digest or request.input_digest}"


def send(client, picks, verdict="approve", comment="", **more):
    return client.post("/requests/bulk/", {"pick": picks, "verdict": verdict, "comment": comment, **more})


def confirm(client, picks, verdict="approve", comment="", **more):
    return send(client, picks, verdict, comment, confirmed="yes", **more)


def outcomes(html: str) -> dict[str, str]:
    """Return the outcome of each row by title."""
    rows = [row.find("td") for row in parse(html).find("tbody")[0].find("tr")]
    return {row[0].words: row[2].words for row in rows}


@pytest.fixture
def asked():
    owner = alice()
    return [make_request(owner, title=f"r{number}", tool_name=("refund", "mail")[number % 2]) for number in range(3)]


def test_preview_decides_nothing(asked):
    page = send(browser(bob()), [pick(one) for one in asked], comment="Fine <b>")
    words = parse(page.text)
    assert (page.status_code, words.find("h1")[0].words) == (200, "Approve 3 requests?")
    tools = words.find("section", class_="bulk-tool")
    assert [tool.find("h2")[0].words for tool in tools] == ["2 refund", "1 mail"]
    assert words.find("blockquote")[0].words == "Fine <b>"
    assert [[one.words for one in tool.find("a")] for tool in tools] == [["r0", "r2"], ["r1"]]
    assert Decision.objects.count() == 0


def test_confirmed_requests_are_decided_one_by_one_with_the_same_message(asked):
    client = browser(bob())
    review = send(client, [pick(one) for one in asked], comment="Fine.", back="/requests/?tool=refund")
    (form,) = forms(review.text, "bulk/")
    sent = form.fields | {"pick": [pick(one) for one in asked]}
    done = client.post(form.action, sent)
    assert outcomes(done.text) == {"r0": "Approved.", "r1": "Approved.", "r2": "Approved."}
    assert {decision(one) for one in asked} == {("approve", "bob", "dashboard", "Fine.")}
    assert [events(one) for one in asked] == [["request.created", "request.decided"]] * 3
    assert parse(done.text).find("a", class_="button")[0].attributes["href"] == "/requests/?tool=refund"
    again = client.post(form.action, sent)
    assert set(outcomes(again.text).values()) == {"Approved earlier by you."}
    assert (again.status_code, Decision.objects.count()) == (200, 3)


def test_each_request_shows_its_own_outcome(asked):
    owner, decider, erin = asked[0].requested_by, bob(), make_person("erin", "decide_approvalrequest")
    critical = make_request(owner, title="critical", tool_name="drop", priority=Priority.CRITICAL)
    question = make_request(owner, Kind.QUESTION, title="question", allow_text=True)
    late = make_request(owner, title="late", deadline_at=PAST)
    decide(asked[1], erin, Verdict.REJECT)
    picks = [pick(asked[0]), pick(asked[1]), pick(asked[2], OTHER), pick(critical), pick(question), pick(late)]
    done = confirm(browser(decider), picks)
    found = outcomes(done.text)
    assert found.pop("late").startswith("This request expired at 2026-01-01 12:00:00 UTC")
    assert found.pop("r1") == "This request was rejected just now by erin."
    assert found == {
        "r0": "Approved.",
        "r2": "This request changed after you loaded the page. Review it again.",
        "critical": "Critical requests must be decided individually.",
        "question": "This needs an answer. Open it to answer.",
    }
    assert [stored(one).status for one in (*asked, critical, question, late)] == [
        "approved", "rejected", "pending", "pending", "pending", "expired",
    ]  # fmt: skip
    assert parse(done.text).find("h1")[0].words == "1 request approved (5 skipped)"


def test_preview_lists_requests_that_would_be_skipped(asked):
    decide(asked[1], make_person("erin", "decide_approvalrequest"), Verdict.REJECT)
    page = parse(send(browser(bob()), [pick(asked[0]), pick(asked[1])]).text)
    left = page.find("table")[-1]
    assert left.find("caption")[0].words == "Not included"
    assert [cell.words for cell in left.find("td")] == ["r1", "mail", "Already rejected by erin."]
    assert [one.attributes["value"] for one in page.find("input", name="pick")] == [pick(asked[0])]


def test_critical_requests_are_not_rejected_in_bulk():
    critical = make_request(alice(), priority=Priority.CRITICAL)
    done = confirm(browser(bob()), [pick(critical)], "reject")
    assert outcomes(done.text) == {"May I?": "Critical requests must be decided individually."}
    assert critical.get_absolute_url() in done.text
    assert stored(critical).status == "pending"


@pytest.mark.parametrize("verdict", ["approve", "reject"])
def test_unknown_outcomes_are_never_decided_in_bulk(asked, verdict):
    recovery = make_request(asked[0].requested_by, Kind.RECOVERY, title="recovery")
    done = confirm(browser(bob()), [pick(asked[0]), pick(recovery)], verdict)
    assert outcomes(done.text) == {
        "r0": {"approve": "Approved.", "reject": "Rejected."}[verdict],
        "recovery": "The outcome of its call is unknown. Check it and decide it individually.",
    }
    assert stored(recovery).status == "pending"


def test_readers_decide_nothing_and_others_see_nothing(asked):
    picks = [pick(one) for one in asked]
    assert set(outcomes(confirm(browser(carol()), picks).text).values()) == {
        "You can see this request, but you cannot decide it."
    }
    stranger = confirm(browser(make_person("mallory")), picks)
    assert outcomes(stranger.text) == {ABSENT: "Request not found. It may not exist, or you may not have access."}
    shown = parse(stranger.text).words
    assert [one.title for one in asked if one.title in shown] == []
    assert Decision.objects.count() == 0


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"verdict": "approve"}, "Select at least one request first."),
        ({"verdict": "edit", "pick": "{pick}"}, "Press one of the buttons."),
        ({"verdict": "\x00", "pick": "{pick}"}, "Press one of the buttons."),
        ({"pick": "{pick}"}, "Press one of the buttons."),
        ({"verdict": "approve", "pick": "x"}, "The list has no such request."),
        ({"verdict": "approve", "pick": "\x00"}, "The list has no such request."),
        ({"verdict": "reject", "pick": "{pick}", "comment": "x" * 5001}, "The comment is longer than 5000 characters."),
        (
            {"verdict": "approve", "pick": [f"00000000-0000-0000-0000-{number:012}:" for number in range(51)]},
            "Select at most 50 requests. You selected 51.",
        ),
    ],
)
@pytest.mark.parametrize("confirmed", ["", "yes"])
def test_invalid_bulk_decision_is_refused(asked, data, words, confirmed):
    sent = {name: pick(asked[0]) if value == "{pick}" else value for name, value in data.items()}
    refused = browser(bob()).post("/requests/bulk/", sent | {"confirmed": confirmed})
    page = parse(refused.text).find("section", class_="problem")[0]
    assert (refused.status_code, page.find("h1")[0].words) == (422, words)
    assert stored(asked[0]).status == "pending"


def test_request_selected_without_a_digest_is_not_decided(asked):
    done = confirm(browser(bob()), [f"{asked[0].pk}", f"{asked[1].pk}:"])
    assert set(outcomes(done.text).values()) == {"This request changed after you loaded the page. Review it again."}
    assert Decision.objects.count() == 0


@pytest.mark.parametrize("back", ["https://evil.example/requests/", "//evil.example", "/admin/", "javascript:x", ""])
def test_back_link_leads_only_to_the_inbox(asked, back):
    page = parse(send(browser(bob()), [pick(asked[0])], back=back).text)
    assert page.find("p", class_="crumbs")[0].find("a")[0].attributes["href"] == "/"


@pytest.mark.django_db(transaction=True)
def test_concurrent_bulk_decisions_decide_each_request_once():
    owner, people = alice(), [bob(), make_person("erin", "decide_approvalrequest")]
    requests = [make_request(owner, title=f"r{number}") for number in range(4)]
    picks = {one.pk: one.input_digest for one in requests}
    verdicts = [Verdict.APPROVE, Verdict.REJECT]
    orders = [(people[n % 2], bulk_orders.BulkDecision(picks, verdicts[n % 2], "")) for n in range(50)]
    found = race(*(lambda u=user, o=order: bulk.decide_all(u, standing_of(u), o) for user, order in orders))
    for place, request in enumerate(requests):
        verdict, name, _, _ = decision(request)
        assert (verdict, name) in {("approve", "bob"), ("reject", "erin")}
        won = Counter((people[n % 2].username, steps[place].code) for n, steps in enumerate(found))
        loser = "erin" if name == "bob" else "bob"
        assert won == {(name, ""): 25, (loser, "already_decided"): 25}
        words = Counter(steps[place].message for steps in found)
        assert words["Approved." if name == "bob" else "Rejected."] == 1
        assert events(request) == ["request.created", "request.decided"]
