"""Named views, snoozed requests and the offers of the command palette."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import actions
from approvals.access.standing import standing_of
from approvals.actions.lists.saved_views import MAX_QUERY, MAX_VIEWS, save_view
from approvals.actions.lists.snoozing import LONGEST, snooze
from approvals.exceptions import Invalid, NotFound
from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest, SavedView, Snooze
from approvals.models.preferences import ListPage
from approvals.pages.lists.inbox_consumer import render_push
from approvals.queries import request_list
from approvals.queries.filters import Filters
from approvals.states import Door, Kind, Verdict
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, make_request
from tests.support.markup import parse
from tests.support.people import alice, bob, carol, make_person, mallory

pytestmark = pytest.mark.django_db


def rows(client, address: str = "/") -> list[str]:
    page = parse(client.get(address).text)
    return [one.words for name in ("expiring", "mine", "waiting") for found in page.find("ol", id=f"list-{name}")
            for one in found.find("a", class_="row-title")]  # fmt: skip


def views(client) -> dict[str, str]:
    links = parse(client.get("/").text).find("nav", id="views")[0].find("a")
    return {link.words: link.attributes["href"] for link in links[3:]}


def test_a_view_keeps_its_filters_and_only_its_owner_changes_it():
    owner, other = bob(), carol()
    mine, theirs = browser(owner), browser(other)
    sent = {"name": " Big  refunds ", "query": "?tool=refund&priority=high&after=2,2026-01-01T00:00:00Z,x"}
    assert mine.post("/views/", sent).status_code == 422
    sent["query"] = "?tool=refund&priority=high&sort=newest"
    answer = mine.post("/views/", sent)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/?priority=high&tool=refund&sort=newest")
    assert (views(mine), views(theirs)) == ({"Big refunds": answer.headers["Location"]}, {})
    assert mine.post("/views/", sent | {"query": "?q=x", "shared": "1"}).status_code == 302
    assert views(theirs) == {"Big refunds": "/?q=x"}
    view = SavedView.objects.get()
    assert [theirs.post(f"/views/{view.pk}/delete/").status_code, theirs.post("/views/999/delete/").status_code] == [
        404,
        404,
    ]
    assert mine.post(f"/views/{view.pk}/delete/").status_code == 302
    assert views(mine) == {}


@pytest.mark.parametrize(
    ("name", "query"), [("", "?"), ("x" * 61, "?"), ("ok", "?colour=red"), (" ", "?"), ("ok", "?tool=a&tool=b")]
)
def test_a_view_needs_a_name_and_valid_filters(name, query):
    assert browser(bob()).post("/views/", {"name": name, "query": query}).status_code == 422
    assert not SavedView.objects.exists()


def test_filters_that_are_too_long_to_save_are_refused_with_words():
    person = make_person("dora", "view_approvalrequest", "view_auditentry")
    client, longest = browser(person), "q=" + "%F0%9F%90%B3" * 166 + "abcdef"
    for address in ("/views/", "/audit/reports/"):
        refused = client.post(address, {"name": "Whales", "query": f"q={'🐳' * 200}"})
        assert (refused.status_code, "These filters are too long to save." in refused.text) == (422, True)
    assert not SavedView.objects.exists()
    assert len(longest) == MAX_QUERY
    save_view(person, ListPage.AUDIT, name="Whales", query=longest, shared=False)
    assert SavedView.objects.get().query == longest


def test_one_person_has_a_bounded_number_of_views():
    owner = bob()
    for number in range(MAX_VIEWS):
        save_view(owner, ListPage.INBOX, name=f"View {number}", query="?", shared=False)
    save_view(owner, ListPage.INBOX, name="View 0", query="?q=again", shared=False)
    with pytest.raises(Invalid):
        save_view(owner, ListPage.INBOX, name="One more", query="?", shared=False)


def test_each_person_gets_their_own_counts_of_a_shared_view():
    owner, reader = alice(), bob()
    make_request(owner, tool_name="refund"), make_request(reader, tool_name="refund")
    save_view(reader, ListPage.INBOX, name="Refunds", query="?tool=refund", shared=True)
    # A view whose filters are no longer valid has no count.
    SavedView.objects.create(owner=reader, name="Old", query="?colour=red", shared=True)
    found = {
        who.username: parse(browser(who).get("/views/counts/").text).find("span") for who in (owner, reader, mallory())
    }
    assert {name: [one.words for one in spans] for name, spans in found.items()} == {
        "alice": ["1"],
        "bob": ["2"],
        "mallory": ["0"],
    }


def test_a_snooze_hides_a_request_from_ones_own_inbox_only():
    owner, by, other = alice(), bob(), make_person("erin", "decide_approvalrequest")
    first, second = make_request(owner, title="one"), make_request(owner, title="two")
    client = browser(by)
    assert (
        client.post(f"/requests/{first.pk}/snooze/", {"until": "tomorrow", "zone": "Europe/Vienna"}).status_code == 302
    )
    assert (rows(client), rows(browser(other)), rows(client, "/?snoozed=1")) == (["two"], ["one", "two"], ["one"])
    assert parse(client.get("/").text).find("span", id="inbox-count")[0].words == "1 waiting · 1 snoozed"
    until = Snooze.objects.get().until
    assert (until.minute, until.second) == (0, 0)
    pushed = [parse(render_push(standing_of(who), BatchCache(), Filters(), listed(first))) for who in (by, other)]
    assert ["data-into" in page.find("li")[0].attributes for page in pushed] == [False, True]
    assert client.post(f"/requests/{first.pk}/snooze/", {"until": "now"}).status_code == 302
    assert rows(client) == ["one", "two"]
    wrong = [{"until": "never"}, {}, {"until": "hour", "zone": "../etc/passwd"}]
    assert [client.post(f"/requests/{second.pk}/snooze/", sent).status_code for sent in wrong] == [422, 422, 302]


def listed(request: ApprovalRequest) -> list[ApprovalRequest]:
    return list(request_list.listed(ApprovalRequest.objects.filter(pk=request.pk), whole=True))


def test_a_snooze_never_passes_half_the_time_to_the_deadline():
    owner, by, now = alice(), bob(), timezone.now()
    soon = make_request(owner, deadline_at=now + timedelta(hours=2))
    for until in (now + timedelta(days=1), None):
        assert abs(snooze(soon.pk, by=by, until=until).until - (now + timedelta(hours=1))) < timedelta(minutes=1)
    plain = make_request(owner)
    assert abs(snooze(plain.pk, by=by, until=None).until - (now + LONGEST)) < timedelta(minutes=1)
    with pytest.raises(Invalid):
        snooze(plain.pk, by=by, until=now - timedelta(seconds=1))
    with pytest.raises(NotFound):
        snooze(plain.pk, by=mallory(), until=None)
    decide(plain, by, Verdict.REJECT)
    with pytest.raises(Invalid):
        snooze(plain.pk, by=by, until=None)
    # Both rows are there, and a snooze that has ended hides nothing.
    Snooze.objects.update(until=now - timedelta(seconds=1))
    assert rows(browser(by)) == ["May I?"]


def test_a_snooze_ends_when_somebody_else_replies_or_assigns_it():
    owner, by = alice(), bob()
    request = make_request(owner, Kind.QUESTION, allow_text=True)
    for reply in (
        lambda who: actions.comment(request.pk, by=who, via=Door.DASHBOARD, text="Hm."),
        lambda who: actions.assign(request.pk, by=who, via=Door.DASHBOARD, to=None if who == by else by),
    ):
        snooze(request.pk, by=by, until=None)
        reply(by)
        assert Snooze.objects.count() == 1
        reply(owner)
        assert Snooze.objects.count() == 0


def test_the_palette_offers_what_the_person_may_see():
    owner, decider = alice(), bob()
    request = make_request(owner, title="Refund the parcel?")
    save_view(decider, ListPage.INBOX, name="Refunds", query="?tool=refund", shared=False)

    def offered(who, q: str = "") -> list[tuple[str, str]]:
        return [(one["label"], one["url"]) for one in browser(who).get("/palette/", {"q": q}).json()["items"]]

    assert offered(decider) == [
        ("Refunds", "/?tool=refund"),
        ("alice", "/?status=any&person=alice"),
        ("bob", "/?status=any&person=bob"),
    ]
    assert offered(owner) == [("alice", "/?status=any&person=alice")]
    assert [offered(who, "parcel") for who in (decider, mallory())] == [
        [("Refund the parcel?", request.get_absolute_url())],
        [],
    ]
    assert [browser(owner).get("/palette/", {"q": q}).status_code for q in ("x" * 201, "\x00")] == [422, 422]
