"""Messages of a channel, rendered with Mattermost's own code: a title is text, and the only link leads to its request."""

from __future__ import annotations

import html
import json
import re
import subprocess
from pathlib import Path

import pytest

from approvals.models import ApprovalRequest
from approvals.outbound import messages
from tests.support.desk.requests import make_request
from tests.support.desk.votes import both, group, make_team, make_voted
from tests.support.markup import Element, parse
from tests.support.people import alice, bob
from tests.support.services import install_packages

pytestmark = pytest.mark.django_db

HERE = Path(__file__).parent
TITLES = [
    "Refund](https://pay.example/) [4711",
    "[Click](https://pay.example/)",
    "![x](https://pay.example/a.png)",
    "[a]: https://pay.example",
    "<https://pay.example>",
    "<https://pay.example|x>",
    r"\[a\](b)",
    "https://pay.example/ www.pay.example",
    "ftp://pay.example pay.com/x",
    "bob@pay.example mailto:x@y.example",
    "**bold** _it_ ~~no~~ `code`",
    "run_label_ now __init__ create_label",
    "a ` b",
    "ends with \\",
    "| a | b |",
    "<script>&lt; &amp;",
    ":smile: :) 14:30 a:b",
    "#topic ~town-square $5 and $6 $$x$$",
    "@all @here @bob",
    "```rm``` ~~~",
    "# Heading",
    "> quoted",
    "Delete what is <3 days old ;) x-D </3",
]


@pytest.fixture(autouse=True)
def _public(settings):
    settings.PUBLIC_URL = "https://desk.example.org"


def shown(messages: list[str]) -> list[dict[str, Element]]:
    """Return the display of each message in apps and pages."""
    install_packages(HERE)
    command = ["node", "render.mjs"]
    ran = subprocess.run(command, cwd=HERE, input=json.dumps(messages), capture_output=True, text=True, check=True)
    return [{where: parse(text) for where, text in one.items()} for one in json.loads(ran.stdout)]


def text_of(*requests: ApprovalRequest) -> str:
    text: str = json.loads(messages.slack(requests))["text"]
    return text


def written(message: str) -> str:
    """Return the visible text of a message: for links, their texts."""
    return html.unescape(re.sub(r"<[^|>]+\|([^>]+)>", r"\1", message))


def check_is_text(message: str, page: Element, *requests: ApprovalRequest) -> None:
    """Check that nothing but the links to these requests was made of a message, and that all of its text is shown."""
    elements = page.all()
    assert {one.tag for one in elements} <= {"p", "a"}, elements
    assert [one.attributes["href"] for one in elements if one.tag == "a"] == [messages.link(one) for one in requests]
    assert page.words == " ".join(written(message).split())


def test_whatever_its_title_is_a_request_is_one_link_to_its_page():
    owner = alice()
    requests = [make_request(owner, title=title) for title in TITLES]
    texts = [text_of(request) for request in requests]
    for request, text, pages in zip(requests, texts, shown(texts), strict=True):
        for page in pages.values():
            check_is_text(text, page, request)


def test_titles_make_nothing_together_either():
    owner = alice()
    requests = [make_request(owner, title=title) for title in TITLES[: messages.NAMED]]
    text = text_of(*requests)
    for page in shown([text])[0].values():
        check_is_text(text, page, *requests)


@pytest.mark.parametrize(
    "name", ["x.com/pay", "Ops x.com/pay", "*finance*", "www.pay.example", "@all", "a@pay.example", "[a](b)"]
)
def test_names_of_teams_behind_the_link_are_text(name):
    request = make_voted(alice(), both(group(make_team(name, bob()))))
    text = text_of(request)
    assert "Votes: 0 of 1" in text
    for page in shown([text])[0].values():
        check_is_text(text, page, request)
