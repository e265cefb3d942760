"""*Approve for…*: the panel offers the possible grants with their meaning, and gives one with the approval."""

from __future__ import annotations

from datetime import timedelta

import pytest

from approvals.models import ApprovalRequest, Grant, Preferences, ToolSettings
from approvals.queries.policy.grants import ledger
from approvals.states import Priority, Verdict
from tests.approvals.actions.policy.granting import ask, statuses
from tests.approvals.hooks.calls import BASH, CLAUDE_CODE
from tests.support.desk.pressing import HTMX, at, browser, decision, seen
from tests.support.desk.requests import FUTURE, PAST, decide
from tests.support.desk.ruling import apply_policy
from tests.support.desk.scopes import again, make_scope
from tests.support.machine import Machine
from tests.support.markup import forms, parse
from tests.support.people import alice, bob, carol, make_person

pytestmark = pytest.mark.django_db

HOUR = {"grant": "yes", "verdict": "approve", "covers": "input", "audience": "agent", "lasts": "3600"}


def panel(user, request: ApprovalRequest) -> str:
    return browser(user).get(at(request, "grant"), headers=HTMX).text


def choices(page: str, name: str) -> list[str]:
    return [field.attributes["value"] for field in parse(page).find("input", name=name)]


def said(page: str, css: str) -> list[str]:
    return [each.words for each in parse(page).find("p", class_=css)]


def test_a_plain_form_approves_and_gives_a_grant_of_an_hour():
    decider, request = bob(), ask(alice())
    client = browser(decider)
    (form,) = forms(client.get(at(request, "grant")).text, "decide/")
    chosen = {"covers": "input", "audience": "key", "lasts": "3600"}
    answer = client.post(
        form.action, form.fields | chosen | {"verdict": "approve", "uses": "3", "reason": "Same order."}
    )
    assert answer.status_code == 302
    assert decision(request) == ("approve", "bob", "dashboard", "")
    given = Grant.objects.get()
    assert (given.width, given.audience, given.uses, given.reason) == (0, "key", 3, "Same order.")
    assert given.until - given.given_at <= timedelta(hours=1)
    assert given.until - given.given_at > timedelta(minutes=59)


@pytest.mark.shows("pages", "grant", "conversation")
def test_the_session_of_a_coding_agent_is_offered_and_its_next_call_is_allowed():
    agent, decider = Machine(alice()), bob()
    agent.post(f"{CLAUDE_CODE}?wait=0", BASH)
    request = ApprovalRequest.objects.get()
    client = browser(decider)
    page = client.get(at(request, "grant")).text
    assert choices(page, "audience") == ["agent", "key", "thread"]
    (form,) = forms(page, "decide/")
    chosen = {"covers": "input", "audience": "thread", "lasts": "3600", "verdict": "approve"}
    assert client.post(form.action, form.fields | chosen).status_code == 302
    replies = [
        agent.post(f"{CLAUDE_CODE}?wait=0", BASH | {"tool_use_id": "toolu_2"} | changes)
        for changes in ({}, {"session_id": "another"})
    ]
    assert [reply.headers["pausepoint-status"] for reply in replies] == ["approved", "pending"]


def test_the_card_offers_it_to_deciders_where_a_grant_is_possible():
    asker, decider = alice(), bob()
    usual, critical = ask(asker), ask(asker, priority=Priority.CRITICAL)
    toolless = ask(asker, tool="")
    for request, offered in ((usual, 1), (critical, 0), (toolless, 0)):
        page = parse(browser(decider).get(request.get_absolute_url()).text)
        assert len([link for link in page.find("a") if "data-grants" in link.attributes]) == offered
    assert "data-grants" not in browser(carol()).get(usual.get_absolute_url()).text


def test_the_panel_offers_what_is_possible_and_says_why_the_rest_is_not():
    request = ask(alice(), {"command": "ls"}, tool="Bash", agent="")
    page = panel(bob(), request)
    assert choices(page, "covers") == ["input"]
    assert choices(page, "audience") == ["key"]
    assert choices(page, "lasts") == ["3600", "28800", "604800", "today", "time", "uses"]
    assert [each.words for each in parse(page).find("ul", class_="hint")[0].find("li")] == [
        "“the same key fields” is not available: it must be this exact input: the tool runs commands or changes files. "
        "An administrator can allow more in its settings.",
        "“any input of this tool” is not available: it must be this exact input: the tool runs commands or changes files. "
        "An administrator can allow more in its settings.",
        "“this agent” is not available: it is not possible: the request names no agent.",
        "“this workflow” is not available: it is not possible: the workflow ends with this request.",
        "“this conversation” is not available: it is not possible: the request names no conversation.",
    ]


def test_key_fields_are_offered_with_their_values_and_the_limits_of_the_tool_hold():
    ToolSettings.objects.create(
        tool_name="refund", key_fields=["/order"], grant_seconds=3600, grant_uses=5, grant_width=1
    )
    decider, request = bob(), ask(alice(), workflow="nightly")
    page = panel(decider, request)
    assert choices(page, "covers") == ["input", "fields"]
    assert "The same key fields: order 4711" in [label.words for label in parse(page).find("label")]
    assert [value for value in choices(page, "lasts") if value != "today"] == ["3600", "time"]
    beyond = browser(decider).post(at(request), seen(request) | HOUR | {"uses": "6"})
    assert beyond.status_code == 422
    assert "This is too many: the settings of the tool allow at most 5." in beyond.text
    assert (ApprovalRequest.objects.get().status, Grant.objects.count()) == ("pending", 0)
    assert browser(decider).post(at(request), seen(request) | HOUR | {"uses": "5"}, headers=HTMX).status_code == 200
    assert Grant.objects.get().uses == 5


def test_where_no_grant_is_possible_the_panel_says_why():
    ToolSettings.objects.create(tool_name="refund", no_grants=True)
    page = panel(bob(), ask(alice()))
    assert "A grant is not possible for this tool: its settings say that a person decides each time." in page
    assert forms(page, "decide/") == []


def test_a_preview_says_in_one_sentence_what_runs_and_lists_what_people_rejected_first():
    asker, decider = alice(), bob()
    earlier = [ask(asker, {"amount": number, "order": "1"}) for number in range(3)]
    decide(earlier[0], decider, Verdict.REJECT, comment="No.")
    decide(earlier[1], decider, Verdict.APPROVE)
    request = ask(asker)
    typed = HOUR | {"covers": "tool", "uses": "3"}
    answer = browser(decider).post(at(request, "grant"), seen(request) | typed, headers=HTMX)
    (sentence,) = said(answer.text, "grant-sentence")
    assert sentence.startswith(
        "For the agent billing (requested by alice), calls of refund with any input run without asking, until "
    )
    assert sentence.endswith(", at most 3 times.")
    (warning,) = parse(answer.text).find("details", class_="grant-warning")
    assert [link.attributes["href"] for link in warning.find("a")] == [earlier[0].get_absolute_url()]
    assert said(answer.text, "hint") == ["It would have approved 2 requests in the last 30 days."]
    assert Grant.objects.count() == 0


def test_a_preview_leaves_out_what_the_policy_decided_without_asking():
    asker, decider = alice(), bob()
    apply_policy({"name": "Small", "when": "input.amount < 10", "then": "allow"}, {"name": "Rest", "then": "deny"})
    decided = [ask(asker, {"amount": amount}) for amount in (5, 500)]
    assert statuses(decided) == ["approved", "rejected"]
    apply_policy()
    request = ask(asker)
    answer = browser(decider).post(at(request, "grant"), seen(request) | HOUR | {"covers": "tool"}, headers=HTMX)
    assert said(answer.text, "hint") == ["It would have approved no request in the last 30 days."]
    assert parse(answer.text).find("details", class_="grant-warning") == []


@pytest.mark.parametrize(
    ("looked_at", "words"),
    [
        (3, "It would have approved 3 requests in the last 30 days."),
        (2, "It would have approved at least 2 requests in the last 30 days."),
    ],
)
def test_a_preview_that_does_not_look_at_all_requests_says_so(looked_at, words, monkeypatch):
    monkeypatch.setattr(ledger, "MAX_PREVIEWED", looked_at)
    asker, decider = alice(), bob()
    for number in range(3):
        decide(ask(asker, {"amount": number}), decider, Verdict.APPROVE)
    request = ask(asker)
    answer = browser(decider).post(at(request, "grant"), seen(request) | HOUR | {"covers": "tool"}, headers=HTMX)
    assert said(answer.text, "hint") == [words]


def test_a_preview_says_nothing_of_requests_that_the_reader_may_not_see():
    asker, limited, root = alice(), bob(), make_person("root", "administer", "decide_approvalrequest", "ignore_scopes")
    unseen = ask(asker, {"amount": 9_000, "order": "1"})
    decide(unseen, root, Verdict.REJECT)
    make_scope(limited, by=root, input=[{"pointer": "/amount", "at_most": 500}])
    request, reader = ask(asker), again(limited)
    answer = browser(reader).post(at(request, "grant"), seen(request) | HOUR | {"covers": "tool"}, headers=HTMX)
    assert (answer.status_code, unseen.get_absolute_url() in answer.text) == (200, False)
    assert said(answer.text, "hint") == ["It would have approved no request in the last 30 days."]
    shown = browser(root).post(at(request, "grant"), seen(request) | HOUR | {"covers": "tool"}, headers=HTMX)
    assert unseen.get_absolute_url() in shown.text


def test_a_grant_is_not_given_with_what_was_not_shown():
    request = ask(alice())
    refused = browser(bob()).post(at(request), {"digest": "sha256:other"} | HOUR)
    assert (refused.status_code, Grant.objects.count()) == (409, 0)


def test_the_end_of_today_is_that_of_the_readers_time_zone():
    decider, request = bob(), ask(alice())
    Preferences.objects.create(person=decider, time_zone="Pacific/Auckland")
    browser(decider).post(at(request), seen(request) | HOUR | {"lasts": "today"})
    given = Grant.objects.get()
    # Midnight there is 11:00 or 12:00 UTC, by the season.
    assert (given.until.hour in (11, 12), given.until.minute) == (True, 0)
    assert given.until - given.given_at <= timedelta(days=1)


def test_whoever_may_not_decide_gets_no_panel():
    request = ask(alice())
    answer = browser(carol()).get(at(request, "grant"))
    assert (answer.status_code, answer.headers["Location"]) == (302, request.get_absolute_url())


def also(html: str) -> list[str]:
    """The addresses of the requests that are said to be covered, too."""
    return [
        link.attributes["href"] for each in parse(html).find("details", class_="grant-also") for link in each.find("a")
    ]


def test_what_waits_and_is_covered_is_said_before_and_offered_after_and_decided_by_nothing_else():
    asker, decider = alice(), bob()
    request, *waiting = (ask(asker, {"amount": number, "order": "1"}) for number in range(3))
    others = [
        ask(asker, {"amount": 1}, tool="other"),
        ask(asker, {"amount": 1}, agent="another"),
        ask(asker, {"amount": 1}, priority="critical"),
    ]
    typed = HOUR | {"covers": "tool"}
    client = browser(decider)
    before = client.post(at(request, "grant"), seen(request) | typed, headers=HTMX).text
    assert also(before) == [each.get_absolute_url() for each in waiting]
    exact = client.post(at(request, "grant"), seen(request) | HOUR, headers=HTMX).text
    assert also(exact) == [], "another input is not covered"

    sent = seen(request) | typed | {"verdict": "approve", "grant": "yes"}
    after = client.post(at(request, "decide"), sent, headers=HTMX)
    (offer,) = parse(after.text).find("form", class_="grant-waiting")
    picks = [field.attributes["value"] for field in offer.find("input", name="pick")]
    assert picks == [f"{each.pk}:{each.input_digest}" for each in waiting]
    assert offer.attributes["action"] == "/requests/bulk/"
    (grant,) = Grant.objects.all()
    assert (
        "2 requests that the grant covers are still waiting"
        in parse(client.get(f"/settings/grants/{grant.pk}/").text).words
    )
    assert statuses([*waiting, *others]) == ["pending"] * 5
    # Later calls don't wait.
    assert ask(asker, {"amount": 9}).status == "approved"


def test_what_expires_in_a_moment_is_not_offered():
    asker, decider = alice(), bob()
    request = ask(asker)
    ask(asker, {"amount": 1}, deadline_at=PAST)
    later = ask(asker, {"amount": 2}, deadline_at=FUTURE)
    answer = browser(decider).post(at(request, "grant"), seen(request) | HOUR | {"covers": "tool"}, headers=HTMX)
    assert also(answer.text) == [later.get_absolute_url()]


def test_nothing_is_offered_of_what_the_person_may_not_decide_or_of_a_grant_that_has_ended():
    asker, limited, root = alice(), bob(), make_person("root", "administer", "decide_approvalrequest", "ignore_scopes")
    make_scope(limited, by=root, input=[{"pointer": "/amount", "at_most": 500}])
    request, _large, small = (ask(asker, {"amount": amount, "order": "1"}) for amount in (120, 9_000, 7))
    reader = again(limited)
    answer = browser(reader).post(at(request, "grant"), seen(request) | HOUR | {"covers": "tool"}, headers=HTMX)
    assert also(answer.text) == [small.get_absolute_url()]
    sent = seen(request) | HOUR | {"covers": "tool", "verdict": "approve", "grant": "yes", "uses": "1"}
    browser(reader).post(at(request, "decide"), sent, headers=HTMX)
    (grant,) = Grant.objects.all()
    page = f"/settings/grants/{grant.pk}/"
    assert "is still waiting" in parse(browser(reader).get(page).text).words
    assert ask(asker, {"amount": 3}).status == "approved", "its only use"
    assert "is still waiting" not in parse(browser(reader).get(page).text).words
