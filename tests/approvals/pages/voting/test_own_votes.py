"""One's own vote while others are awaited: on the card, in its row, and the place of the row."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals import actions
from approvals.access.standing import standing_of
from approvals.asking.answers import Answer
from approvals.live.batching import BatchCache
from approvals.models.actors import KeyActor, key_and_username
from approvals.pages.lists.inbox_consumer import render_push
from approvals.policy.terms import Stage, Terms
from approvals.queries import request_list, requests_for
from approvals.queries.filters import Filters
from approvals.states import Door, Verdict
from tests.support.desk.carrying import make_key
from tests.support.desk.pressing import browser, press
from tests.support.desk.requests import REFUND, make_request, stored
from tests.support.desk.votes import both, group, make_team, make_voted, vote, votes_of
from tests.support.markup import buttons, forms, parse
from tests.support.people import alice, make_person

pytestmark = pytest.mark.django_db


def own_words(client, request):
    return [words.words for words in parse(client.get(request.get_absolute_url()).text).find("p", class_="votes-own")]


def sections(client, address="/requests/"):
    """The ids of the rows in each section that has some."""
    lists = parse(client.get(address).text).find("ol", class_="inbox-list")
    rows = {
        each.attributes["id"]: [row.attributes["id"] for row in each.find("li", class_="inbox-row")] for each in lists
    }
    return {name: ids for name, ids in rows.items() if ids}


def test_the_card_says_that_you_have_voted_and_lets_you_change_it(payment, people):
    vote(payment, people[0])
    client = browser(people[0])
    assert own_words(client, payment) == ["You approved this just now. You can change your vote."]
    page = client.get(payment.get_absolute_url()).text
    (form, *_) = forms(page, "decide/")
    press(client, form, "Reject", comment="Paid twice.")
    assert (votes_of(payment), stored(payment).status) == ([("bob", "reject")], "rejected")
    assert own_words(client, payment) == []


def test_the_tab_and_the_list_count_alike_what_needs_only_the_votes_of_others(payment, people):
    def counts():
        pages = [parse(browser(person).get("/").text) for person in people]
        return [
            (page.find("span", id="tab-inbox")[0].words, page.find("span", id="inbox-count")[0].words) for page in pages
        ]

    other = make_request(payment.requested_by)
    needed, not_needed = ("2", "2 waiting"), ("1", "1 waiting · 1 waiting for others")
    assert counts() == [needed, needed, not_needed]
    assert sections(browser(people[2])) == {
        "list-waiting": [f"row-{other.pk}"],
        "list-voted": [f"row-{payment.pk}"],
    }
    listed = [parse(browser(person).get("/requests/").text).find("li", id=f"row-{payment.pk}")[0] for person in people]
    assert [bool(row.find("input")) for row in listed] == [True, True, False]
    assert ["is-voted" in row.attributes["class"].split() for row in listed] == [False, False, True]
    vote(payment, people[0])
    assert counts() == [not_needed, needed, not_needed]


def test_a_push_counts_votes_for_many_with_the_statements_for_one(payment, people):
    vote(payment, people[0])
    made = make_request(payment.requested_by)
    viewers = [standing_of(person) for person in people]

    def pushed(readers):
        shared = BatchCache(readers)
        changed = list(request_list.listed(requests_for(readers[0]).filter(pk=made.pk), whole=True))
        with CaptureQueriesContext(connection) as statements:
            pages = [parse(render_push(viewer, shared, Filters(), changed)) for viewer in readers]
        return len(statements), [page.find("span", id="tab-inbox")[0].words for page in pages]

    assert pushed(viewers[:1]) == (pushed(viewers)[0], ["1"])
    assert pushed(viewers)[1] == ["1", "2", "1"]


def test_a_row_says_what_it_counts_and_names_everyone_who_decided(payment, people):
    vote(payment, people[0])
    client = browser(people[2])
    (count,) = parse(client.get("/").text).find("span", class_="row-progress")
    assert (count.words, count.attributes["title"]) == ("1 of 2 approvals", "1 of 2, security missing")
    vote(payment, people[1])
    (outcome,) = parse(client.get("/").text).find("span", class_="row-outcome")
    assert outcome.words == "Approved by bob and dave"
    page = parse(client.get(payment.get_absolute_url()).text)
    assert page.find("div", class_="outcome")[0].words.startswith("Approved by bob and dave just now")
    assert page.find("span", class_="row-progress") == []
    auditor = browser(make_person("olga", "view_approvalrequest", "view_auditentry"))
    (names, *_) = parse(auditor.get("/audit/?event=request.decided").text).find("p", class_="audit-who")
    assert [link.words for link in names.find("a")] == ["bob", "dave"]
    record = parse(auditor.get(f"{payment.get_absolute_url()}record/").text)
    assert record.find("section", class_="facts")[0].find("dd")[1].words.startswith("bob dave ")


def test_it_says_it_of_a_rejection_and_of_changes_and_not_to_others(people):
    request = make_voted(alice(), Terms(stages=both(group(votes=2)).stages, veto=False), input=REFUND)
    vote(request, people[0], Verdict.REJECT)
    vote(request, people[1], Verdict.EDIT, edited_input={**REFUND, "amount": 50})
    assert own_words(browser(people[1]), request) == [
        "You approved this with changes just now. You can change your vote."
    ]
    assert own_words(browser(people[0]), request) == [
        "The input has changed since you voted. Your vote is needed again."
    ]
    assert own_words(browser(people[2]), request) == []
    vote(request, people[0], Verdict.REJECT)
    assert own_words(browser(people[0]), request) == ["You rejected this just now. You can change your vote."]


def test_whoever_has_lost_the_right_is_not_told_that_the_vote_stands(payment, people):
    vote(payment, people[0])
    people[0].groups.clear()
    assert own_words(browser(people[0]), payment) == []
    assert "Approve" not in buttons(browser(people[0]).get(payment.get_absolute_url()).text)


def test_several_stages_say_how_far_they_are_once(people):
    finance, security = make_team("finance", people[0]), make_team("security", people[1])
    stages = (Stage(groups=(group(finance),)), Stage(groups=(group(security),)))
    request = make_voted(alice(), Terms(stages=stages), input=REFUND)
    page = parse(browser(people[0]).get(request.get_absolute_url()).text)
    (votes,) = page.find("section", class_="votes")
    assert [(stage.words, stage.attributes.get("aria-current")) for stage in votes.find("span", class_="stage")] == [
        ("1. finance \u2013 missing", "step"),
        ("2. security \u2013 missing", None),
    ]
    assert votes.find("p", class_="votes-progress")[0].words.startswith("Stage 1 of 2: 0 of 1, finance missing")


def test_a_vote_with_an_api_key_names_the_person_and_the_key(payment, people):
    people[0].first_name = "Bob Miller"
    people[0].save()
    key, _secret = make_key(people[0])
    key.name = "nightly of finance"
    actions.decide(payment.pk, Answer(Verdict.APPROVE), by=KeyActor(people[0], key), via=Door.REST)
    page = parse(browser(people[1]).get(payment.get_absolute_url()).text)
    (cast,) = page.find("ul", class_="votes-cast")[0].find("li")
    assert cast.words.startswith("Bob Miller (@bob) approved with API key nightly of finance just now")
    assert own_words(browser(people[0]), payment) == ["You approved this just now. You can change your vote."]


@pytest.mark.parametrize(
    ("recorded", "parts"),
    [
        ("bob", ("", "bob")),
        ("API key ci of bob", ("ci", "bob")),
        ("API key one of two of b.o-b@x", ("one of two", "b.o-b@x")),
        ("API key", ("", "API key")),
    ],
)
def test_a_recorded_name_is_taken_apart(recorded, parts):
    assert key_and_username(recorded) == parts


def test_what_you_have_voted_on_stands_below_what_waits_for_you(payment, people):
    other = make_request(payment.requested_by, tool_name="refund", input=REFUND)
    soon = make_voted(payment.requested_by, both(group(votes=2)), input=REFUND)
    mine = make_voted(payment.requested_by, both(group(votes=2)), input=REFUND)
    actions.assign(mine.pk, to=people[0], by=people[0], via=Door.DASHBOARD)
    for request in (payment, soon, mine):
        vote(request, people[0])
    assert sections(browser(people[0])) == {
        "list-waiting": [f"row-{other.pk}"],
        "list-voted": [f"row-{mine.pk}", f"row-{payment.pk}", f"row-{soon.pk}"],
    }
    voted = parse(browser(people[0]).get("/requests/").text).find("ol", id="list-voted")[0]
    assert [words.words for words in voted.find("span", class_="row-voted")] == ["You approved"] * 3
    assert [
        heading.words for heading in parse(browser(people[0]).get("/requests/").text).find("h2", class_="inbox-group")
    ][3] == "Waiting for others"
    # For others, each of them waits.
    assert sections(browser(people[1])) == {
        "list-waiting": [f"row-{request.pk}" for request in (payment, other, soon, mine)]
    }


def test_it_is_back_among_what_waits_when_the_input_has_changed(payment, people):
    vote(payment, people[0])
    vote(payment, people[1], Verdict.EDIT, edited_input={**REFUND, "amount": 50})
    assert sections(browser(people[0])) == {"list-waiting": [f"row-{payment.pk}"]}
    assert sections(browser(people[1])) == {"list-voted": [f"row-{payment.pk}"]}


def test_lists_without_sections_mark_it(payment, people):
    vote(payment, people[0])
    (row,) = parse(browser(people[0]).get("/requests/?group=tool").text).find("li", class_="inbox-row")
    assert "is-voted" in row.attributes["class"].split()


def test_the_section_costs_no_statement(payment, people):
    request = make_voted(payment.requested_by, both(group(votes=2)), input=REFUND)
    client = browser(people[0])
    vote(request, people[1])
    client.get("/requests/")
    with CaptureQueriesContext(connection) as before:
        client.get("/requests/")
    vote(payment, people[0])
    with CaptureQueriesContext(connection) as after:
        client.get("/requests/")
    assert len(after) == len(before)


def test_pushed_rows_differ_between_those_who_have_voted_and_the_others(payment, people):
    vote(payment, people[0])
    shared = BatchCache([standing_of(person) for person in people])
    changed = list(request_list.listed(requests_for(standing_of(people[0])), whole=True))
    pushed = [parse(render_push(standing_of(person), shared, Filters(), changed)) for person in people]
    rows = [page.find("li", id=f"row-{payment.pk}")[0] for page in pushed]
    assert [row.attributes["data-section"] for row in rows] == ["voted", "waiting", "voted"]
    assert ["You approved" in row.words for row in rows] == [True, False, False]
    # Voters are not notified of the votes of others.
    notified = [bool(page.find("div", class_="browser-notification")) for page in pushed]
    assert notified == [False, True, False]


def test_a_push_shows_each_voter_their_own_vote(people):
    """Both votes count, the voters have the same rights, and both pages get what one batch has rendered."""
    request = make_voted(alice(), Terms(stages=both(group(votes=2)).stages, veto=False), input=REFUND)
    vote(request, people[1], Verdict.APPROVE)
    vote(request, people[2], Verdict.REJECT)
    shared = BatchCache([standing_of(person) for person in people])
    words = {}
    for person in people[1:]:
        viewer = standing_of(person)
        changed = list(request_list.listed(requests_for(viewer).filter(pk=request.pk), whole=True))
        pushed = parse(render_push(viewer, shared, Filters(), changed, cards=False))
        words[person.username] = [each.words for each in pushed.find("span", class_="row-voted")]
    assert words == {"dave": ["You approved"], "erin": ["You rejected"]}
