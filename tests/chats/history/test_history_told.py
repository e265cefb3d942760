"""What the pages about the past tell: all of it, as it was written, and what is not there any more."""

from __future__ import annotations

import pytest
from django.utils import timezone

from approvals.models import ApprovalRequest
from approvals.states import Kind, Verdict
from chats import actions
from chats.exceptions import ChatPruned
from chats.lookback import timeline
from chats.lookback.timeline import page_of, timeline_cursor_from
from chats.models import Chat, Turn, TurnCheckpoint
from chats.pages import views
from chats.queries import branches
from tests.chats.engine.test_nested import converse as nested
from tests.chats.lookback.test_lookback_pages import browser, exported
from tests.support.chats import agents
from tests.support.chats.branches import branch, checkpoints
from tests.support.chats.scenes import completed
from tests.support.chats.turns import converse, decide, make_chat, only_request, run
from tests.support.machines import machine
from tests.support.markup import parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def oddball(settings):
    settings.HITL_AGENTS = [agents.PATH]


def begun_and_left(turn: Turn) -> None:
    """A runner has begun the turn's call, and dies."""
    claimed, _, _ = actions.claim_turn(turn.pk, owner="one that dies")
    assert actions.claim_call(claimed, turn.tool_calls.get().pk) is not None
    actions.release_turn(claimed)


def doubted_twice(decider) -> Turn:
    """A payment of which nobody knew twice whether it had happened."""
    turn = converse(alice(), "pay")
    decide(only_request(turn), decider, Verdict.APPROVE)
    begun_and_left(turn)
    run(turn)
    decide(only_request(turn), decider, Verdict.APPROVE, comment="It did not arrive: run it again.")
    begun_and_left(turn)
    run(turn)
    decide(only_request(turn), decider, Verdict.RESPOND, answer={"paid": 5})
    return run(turn)


def recoveries() -> list[str]:
    found = ApprovalRequest.objects.filter(kind=Kind.RECOVERY).order_by("created_at")
    return [str(pk) for pk in found.values_list("pk", flat=True)]


def told(chat: Chat, kind: str) -> list[str]:
    return [str(entry.request.pk) for entry in page_of(chat).entries if entry.kind == kind]


def test_every_doubt_about_a_call_and_every_answer_to_it_is_told():
    turn = doubted_twice(bob())
    assert (told(turn.chat, "outcome_unknown"), told(turn.chat, "outcome_decided")) == (recoveries(), recoveries())
    assert len(recoveries()) == 2
    assert "run it again" in browser(turn.chat.owner).get(f"/chats/{turn.chat_id}/timeline/").text
    for entry in page_of(turn.chat).entries:
        assert timeline_cursor_from(str(entry.cursor)) == entry.cursor


def test_so_it_is_in_a_branch_and_in_what_is_exported_of_it():
    turn = doubted_twice(bob())
    made = branch(turn, checkpoints(turn).count() - 1)
    assert (told(made, "outcome_unknown"), told(made, "outcome_decided")) == (recoveries(), recoveries())
    found = exported(machine(turn.chat.owner, "read"), f"/api/chat/{made.public_id}/export")
    asked = [row["request"] for row in found["requests"] if row["kind"] == "recovery"]
    assert sorted(asked) == sorted(recoveries())


def test_what_was_asked_in_the_origin_after_the_branch_is_none_of_its_doubts():
    by = bob()
    turn = converse(alice(), "pay")
    decide(only_request(turn), by, Verdict.APPROVE)
    begun_and_left(turn)
    run(turn)
    made = branch(turn, 1)
    decide(only_request(turn), by, Verdict.APPROVE)
    begun_and_left(turn)
    run(turn)
    own = [str(pk) for pk in ApprovalRequest.objects.filter(scope=made.scope).values_list("pk", flat=True)]
    assert (told(made, "outcome_unknown"), told(made, "outcome_decided")) == (own, [])
    assert len(own) == 1


def test_a_value_that_is_cut_says_by_how_much(monkeypatch):
    monkeypatch.setattr(timeline, "MAX_SHOWN", 20)
    turn = converse(alice(), "pay")
    decide(only_request(turn), bob(), Verdict.EDIT, edited_input={"amount": 5, "to": "E" * 100})
    page = parse(browser(turn.chat.owner).get(f"/chats/{turn.chat_id}/timeline/").text)
    (given,) = page.find("li", class_="entry-decided")[0].find("pre")
    assert given.words.endswith("more characters …")


def test_what_nobody_would_see_is_shown_in_the_timeline_and_beside_each_other():
    turn = converse(alice(), "pay")
    decide(only_request(turn), bob(), Verdict.APPROVE, comment="fine\u202eoN")
    run(turn)
    client = browser(turn.chat.owner)
    for page in ("timeline", "compare"):
        text = client.get(f"/chats/{turn.chat_id}/{page}/").text
        assert ("\u202e" in text, "fine⟨U+202E⟩oN" in text) == (False, True)


def test_while_a_sub_agent_waits_the_timeline_above_leads_to_its_own(settings):
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


def test_a_removed_chat_is_not_told_as_one_in_which_nothing_happened(half_removed):
    client = browser(half_removed.chat.owner)
    for page in ("timeline", "compare", "checkpoints"):
        answer = client.get(f"/chats/{half_removed.chat_id}/{page}/")
        assert (answer.status_code, "were deleted because of their age" in answer.text) == (200, True)
        assert [
            words for words in ("Nothing has happened", "There are no two", "export/") if words in answer.text
        ] == []
        assert parse(answer.text).find("li", class_="entry") == []
    answer = client.get(f"/chats/checkpoints/{TurnCheckpoint.objects.get().pk}/")
    assert (answer.status_code, "removed because of its age" in answer.text) == (410, True)


def test_nothing_goes_on_from_a_removed_chat(half_removed):
    with pytest.raises(ChatPruned):
        branch(half_removed, 0)
    assert Chat.objects.count() == 1


def test_a_branch_outlives_its_origin_and_leads_to_no_checkpoint_that_is_gone():
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


def test_more_branches_than_are_listed_are_not_counted_as_all(monkeypatch):
    turn = completed(make_chat(alice()))
    for _ in range(3):
        branch(turn, 0)
    client = browser(turn.chat.owner)
    assert "3 branches of this chat" in client.get(turn.chat.get_absolute_url()).text
    monkeypatch.setattr(branches, "LISTED", 2)
    assert "The latest 2 branches of this chat" in client.get(turn.chat.get_absolute_url()).text


def test_checkpoints_are_read_page_by_page(monkeypatch):
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
