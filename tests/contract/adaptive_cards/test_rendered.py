"""Cards for Teams, rendered with Microsoft's own code: texts are shown as they are, and clicks send what the stand-in sends."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect, sync_playwright

from approvals.channels.content import content_of
from approvals.channels.teams.cards import card
from approvals.models.channels import Shows
from approvals.states import Kind
from tests.support.desk.requests import make_request
from tests.support.people import alice
from tests.support.services import find_chromium, install_packages
from tests.support.teams.cards import Json, buttons
from tests.support.teams.pages import PACKAGES, show

pytestmark = pytest.mark.django_db
DATE = "{{DATE(2017-02-14T06:08:39Z,LONG)}}"
TEXTS = [
    "**bold** _it_",
    "[x](https://evil.example)",
    DATE,
    f"{{{DATE}}}",
    "<b>&lt;</b>",
    "- a\n- b",
    "# h",
    "a   b\n  c",
]


def card_of(user: User, **changes: Any) -> Json:
    request = make_request(user, **changes)
    body: Json = card(request, content_of(request, Shows.INPUT)).body
    return body


def test_texts_are_shown_as_they_are_and_clicks_send_the_inputs():
    install_packages(PACKAGES)
    user = alice()
    shown = [card_of(user, title=f"May I {text}?", input={"text": text}) for text in TEXTS]
    schema = {"type": "object", "properties": {"**n** [x](y)": {"type": "string", "description": "**d**"}}}
    options = [{"label": f"**A** {DATE}"}, {"label": "B"}]
    form = card_of(user, kind=Kind.FORM, response_schema=schema)
    question = card_of(user, kind=Kind.QUESTION, options=options)
    # The cards are made before: while playwright runs, Django refuses its database.
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        page.set_default_timeout(60_000)
        _click_through(page, shown, form, question)
        browser.close()


def _click_through(page: Page, shown: list[Json], form: Json, question: Json) -> None:
    expect.set_options(timeout=60_000)
    show(page, [*shown, form, question])
    articles = page.locator("article")
    expect(articles).to_have_count(len(TEXTS) + 2)
    for number, text in enumerate(TEXTS):
        for line in text.split("\n"):
            expect(articles.nth(number)).to_contain_text(line.strip())
    expect(articles.last.get_by_role("button", name=f"**A** {DATE}")).to_be_visible()
    articles.nth(len(TEXTS)).get_by_role("button", name="Answer…").click()
    field = articles.nth(len(TEXTS)).get_by_label("**n** [x](y)")
    expect(field).to_be_visible()
    field.fill("**v**")
    articles.nth(len(TEXTS)).get_by_role("button", name="Answer", exact=True).click()
    articles.first.get_by_role("button", name="Reject…").click()
    articles.first.get_by_label("Message to the agent").fill("No.")
    articles.first.get_by_role("button", name="Reject", exact=True).click()
    articles.first.get_by_role("button", name="Approve", exact=True).click()
    page.wait_for_function("window.sent.length === 3")
    answer, reject, approve = page.evaluate("window.sent")
    known = buttons(shown[0])
    assert answer["data"] == buttons(form)["Answer"].data({"answer.0": "**v**"})
    assert reject["data"] == known["Reject"].data({"reject.comment": "No."})
    assert approve == {"verb": "pausepoint.approve", "data": known["Approve"].data({})}
    expect(page.locator("body")).not_to_contain_text("MARKDOWN")
    expect(page.locator("body")).not_to_contain_text("February")
