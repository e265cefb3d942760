"""A card that is too large for a WebSocket message: its row is pushed, and the page fetches the card."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.template.loader import render_to_string
from django.utils import timezone

from approvals.access.standing import standing_of
from approvals.db.pool import run
from approvals.models import ApprovalRequest
from approvals.pages.cards import card_for
from approvals.pages.consumers import MAX_PUSH
from approvals.states import Verdict
from approvals.templatetags.pushes import MAX_CARD
from tests.support.desk.requests import decide, make_request
from tests.support.lines import line
from tests.support.markup import parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)

LARGE = {
    "a long text": {"text": "word " * 180_000},
    "many values": {f"value {number}": number for number in range(9_000)},
}


@pytest.mark.parametrize("name", LARGE)
async def test_a_large_card_is_fetched_by_the_page_and_its_row_is_pushed(name):
    owner, decider = await run(alice), await run(bob)
    request = await run(lambda: make_request(owner, input=LARGE[name]))
    async with line("/ws/requests/", decider) as inbox, line("/ws/desk/", decider) as page:
        await run(lambda: decide(request, decider, Verdict.REJECT))
        for pushed in (await inbox.until("Rejected"), await page.until("Rejected")):
            assert len(pushed.encode()) < MAX_CARD
            (card,) = parse(pushed).find("section", id=f"request-{request.pk}")
            assert (card.attributes["hx-get"], card.attributes["hx-select"], card.attributes["hx-trigger"]) == (
                f"/requests/{request.pk}/",
                f"#request-{request.pk}",
                "load",
            )
            assert "is-rejected" in card.attributes["class"]


async def test_a_page_that_missed_more_than_a_message_can_hold_is_asked_to_reload():
    owner, decider = await run(alice), await run(bob)
    since = int((timezone.now() - timedelta(minutes=1)).timestamp())

    def ask() -> None:
        for number in range(12):
            make_request(owner, tool_call_id=f"call-{number}", input={"text": "a " * 20_000})

    await run(ask)
    cards = await run(lambda: [card_for(standing_of(decider), request) for request in ApprovalRequest.objects.all()])
    sizes = await run(lambda: [len(render_to_string("approvals/request/_card.html", {"card": card})) for card in cards])
    assert (max(sizes) < MAX_CARD, sum(sizes) > MAX_PUSH) == (True, True)
    async with line(f"/ws/desk/?since={since}", decider) as page:
        pushed = await page.until("out of date")
        assert len(pushed.encode()) < MAX_CARD
        request = await run(lambda: make_request(owner, title="Small one", tool_call_id="small"))
        assert f'id="request-{request.pk}"' in await page.until("Small one")
