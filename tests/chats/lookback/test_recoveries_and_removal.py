"""Recoveries, shortened values and removed chats on the timeline and its sister pages."""

from __future__ import annotations

import pytest
from django.utils import timezone

from approvals.models import ApprovalRequest
from approvals.states import Kind, Verdict
from chats import actions
from chats.exceptions import ChatPruned
from chats.lookback import timeline
from chats.lookback.timeline import TimelineCursor, page_of
from chats.models import Chat, Turn, TurnCheckpoint
from chats.pages import views
from chats.queries import branches
from tests.chats.engine.test_nested import converse as nested
from tests.chats.lookback.test_lookback_pages import browser, exported
from tests.support.chats import agents
from tests.support.chats.branches import branch, checkpoints
from tests.support.chats.claims import claim_turn
from tests.support.chats.scenes import completed
from tests.support.chats.turns import converse, decide, make_chat, only_request, run, start_call
from tests.support.machines import machine
from tests.support.markup import parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def oddball(settings):
    settings.HITL_AGENTS = [agents.PATH]


def start_call_and_die(turn: Turn) -> None:
    """A runner has begun the turn's call, and dies."""
    claimed, _, _ = claim_turn(turn.pk, owner="one that dies")
    actions.release_turn(claimed, [start_call(claimed, turn).tool_call_id])


def recovered_twice(decider) -> Turn:
    """A payment whose outcome was unknown twice."""
    turn = converse(alice(), "pay")
    decide(only_request(turn), decider, Verdict.APPROVE)
    start_call_and_die(turn)
    run(turn)
    decide(only_request(turn), decider, Verdict.APPROVE, comment="It did not arrive: run it again.")
    start_call_and_die(turn)
    run(turn)
    decide(only_request(turn), decider, Verdict.RESPOND, answer={"paid": 5})
    return run(turn)


def recoveries() -> list[str]:
    found = ApprovalRequest.objects.filter(kind=Kind.RECOVERY).order_by("created_at")
    return [str(pk) for pk in found.values_list("pk", flat=True)]


def entries_of(chat: Chat, kind: str) -> list[str]:
    return [str(entry.request.pk) for entry in page_of(chat).entries if entry.kind == kind]


def test_the_timeline_shows_every_recovery_and_its_outcome():
    turn = recovered_twice(bob())
    assert (entries_of(turn.chat, "outcome_unknown"), entries_of(turn.chat, "outcome_decided")) == (
        recoveries(),
        recoveries(),
    )
    assert len(recoveries()) == 2
    assert "run it again" in browser(turn.chat.owner).get(f"/chats/{turn.chat_id}/timeline/").text
    for entry in page_of(turn.chat).entries:
        assert TimelineCursor.parse(str(entry.cursor)) == entry.cursor


def test_a_branch_and_its_export_show_every_recovery():
    turn = recovered_twice(bob())
    made = branch(turn, checkpoints(turn).count() - 1)
    assert (entries_of(made, "outcome_unknown"), entries_of(made, "outcome_decided")) == (recoveries(), recoveries())
    found = exported(machine(turn.chat.owner, "read"), f"/api/chat/{made.public_id}/export")
    asked = [row["request"] for row in found["requests"] if row["kind"] == "recovery"]
    assert sorted(asked) == sorted(recoveries())


def test_a_branch_does_not_show_later_recoveries_of_the_original_chat():
    by = bob()
    turn = converse(alice(), "pay")
    decide(only_request(turn), by, Verdict.APPROVE)
    start_call_and_die(turn)
    run(turn)
    made = branch(turn, 1)
    decide(only_request(turn), by, Verdict.APPROVE)
    start_call_and_die(turn)
    run(turn)
    own = [str(pk) for pk in ApprovalRequest.objects.filter(scope=made.scope).values_list("pk", flat=True)]
    assert (entries_of(made, "outcome_unknown"), entries_of(made, "outcome_decided")) == (own, [])
    assert len(own) == 1


def test_a_shortened_value_says_how_much_is_missing(monkeypatch):
    monkeypatch.setattr(timeline, "MAX_SHOWN", 20)
    turn = converse(alice(), "pay")
    decide(only_request(turn), bob(), Verdict.EDIT, edited_input={"amount": 5, "to": "E" * 100})
    page = parse(browser(turn.chat.owner).get(f"/chats/{turn.chat_id}/timeline/").text)
    (given,) = page.find("li", class_="entry-decided")[0].find("pre")
    assert given.words.endswith("more characters …")


def test_invisible_characters_are_shown_in_the_timeline_and_in_comparisons():
    turn = converse(alice(), "pay")
    decide(only_request(turn), bob(), Verdict.APPROVE, comment="fine\u202eoN")
    run(turn)
    client = browser(turn.chat.owner)
    for page in ("timeline", "compare"):
        text = client.get(f"/chats/{turn.chat_id}/{page}/").text
        assert ("\u202e" in text, "fine⟨U+202E⟩oN" in text) == (False, True)


def test_the_timeline_links_the_timeline_of_a_waiting_sub_agent(settings):
    settings.HITL_AGENTS = [agents.BOSS]
    turn = nested("accountant ask")
    below = Turn.objects.get(agent="accountant")
    (step,) = [entry for entry in page_of(turn.chat).entries if entry.kind == "step"]
    assert step.conversations == [("accountant", below.chat_id)]
    text = browser(turn.chat.owner).get(f"/chats/{turn.chat_id}/timeline/").text
    assert f'href="/chats/{below.chat_id}/timeline/"' in text


@pytest.fixture
def half_removed() -> Turn:
    """Its removal has begun, and was killed before anything of it had gone."""
    turn = completed(make_chat(alice()))
    Chat.objects.filter(pk=turn.chat_id).update(pruned_at=timezone.now())
    return turn


def test_the_pages_of_a_removed_chat_say_that_it_was_removed(half_removed):
    client = browser(half_removed.chat.owner)
    for page in ("timeline", "compare", "checkpoints"):
        answer = client.get(f"/chats/{half_removed.chat_id}/{page}/")
        assert (answer.status_code, "deleted because of their age" in answer.text) == (200, True)
        assert [
            words
            for words in ("Nothing has happened", "There are no two", "No checkpoints yet", "export/")
            if words in answer.text
        ] == []
        assert parse(answer.text).find("li", class_="entry") == []
    answer = client.get(f"/chats/checkpoints/{TurnCheckpoint.objects.get().pk}/")
    assert (answer.status_code, "removed because of its age" in answer.text) == (410, True)


def test_a_removed_chat_cannot_be_branched(half_removed):
    with pytest.raises(ChatPruned):
        branch(half_removed, 0)
    assert Chat.objects.count() == 1


def test_a_branch_does_not_link_checkpoints_of_a_removed_chat():
    turn = completed(make_chat(alice()))
    made = branch(turn, 0)
    link = f"/chats/checkpoints/{made.branched_at}/"
    client = browser(turn.chat.owner)
    assert link in client.get(made.get_absolute_url()).text
    Chat.objects.filter(pk=turn.chat_id).update(pruned_at=timezone.now())
    for page in (made.get_absolute_url(), f"/chats/{made.pk}/timeline/", f"/chats/{turn.chat_id}/timeline/"):
        answer = client.get(page)
        assert (answer.status_code, link in answer.text) == (200, False)
    assert [entry.kind for entry in page_of(Chat.objects.get(pk=turn.chat_id)).entries] == ["branched"]


def test_a_shortened_list_of_branches_says_so(monkeypatch):
    turn = completed(make_chat(alice()))
    for _ in range(3):
        branch(turn, 0)
    client = browser(turn.chat.owner)
    assert "3 branches of this chat" in client.get(turn.chat.get_absolute_url()).text
    monkeypatch.setattr(branches, "LISTED", 2)
    assert "The latest 2 branches of this chat" in client.get(turn.chat.get_absolute_url()).text


def test_checkpoints_are_paginated(monkeypatch):
    monkeypatch.setattr(views, "CHECKPOINTS", 3)
    chat = make_chat(alice())
    for _ in range(7):
        completed(chat)
    made = list(TurnCheckpoint.objects.order_by("pk").values_list("pk", flat=True))
    client, address, found = browser(chat.owner), f"/chats/{chat.pk}/checkpoints/", []
    while address:
        page = parse(client.get(address).text)
        listed = [int(link.attributes["href"].split("/")[-2]) for link in page.find("a", class_="row-title")]
        found = listed + found
        earlier = [link.attributes["href"] for link in page.find("a", class_="button") if link.words == "Earlier"]
        address = f"/chats/{chat.pk}/checkpoints/{earlier[0]}" if earlier else ""
    assert (found, len(made)) == (made, 7)
    assert len(parse(client.get(f"/chats/{chat.pk}/checkpoints/?before=x").text).find("a", class_="row-title")) == 3
