"""The first line of a card names the tool that would run."""

from __future__ import annotations

import pytest

from approvals.states import Kind
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.markup import parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def first_line(request) -> str:
    page = parse(browser(bob()).get(request.get_absolute_url()).text)
    return page.find("header", class_="request-head")[0].find("p")[0].words


@pytest.mark.parametrize("path", [[], ["deploy"], ["planner", "deploy"], ["planner", "clerk", "rollout"]])
def test_tool_is_in_the_first_line_for_any_step_path(path):
    huge = {f"value {number}": "x" * 300 for number in range(60)}
    request = make_request(alice(), title="Deploy checkout", tool_name="deploy", step_path=path, input=huge)
    assert first_line(request) == "Tool deploy"


@pytest.mark.parametrize("kind", [Kind.QUESTION, Kind.FORM, Kind.RECOVERY])
def test_tool_is_in_the_first_line_for_every_kind(kind):
    assert first_line(make_request(alice(), kind, tool_name="pay", allow_text=True)) == "Tool pay"


def test_an_approval_without_a_tool_says_so():
    assert first_line(make_request(alice())) == "No tool named"


def test_step_path_is_shown_beside_the_tool():
    request = make_request(alice(), tool_name="deploy", step_path=["planner", "clerk", "deploy"])
    page = parse(browser(bob()).get(request.get_absolute_url()).text)
    assert page.find("span", class_="path")[0].words.split(" \u203a ") == ["planner", "clerk", "deploy"]


def test_html_in_the_step_path_is_escaped_once():
    request = make_request(alice(), step_path=["buy & <b>sell</b>", "it's", "de\u200bploy"])
    page = parse(browser(bob()).get(request.get_absolute_url()).text)
    path = page.find("span", class_="path")[0].words.split(" \u203a ")
    assert path == ["buy & <b>sell</b>", "it's", "de\u27e8U+200B\u27e9ploy"]
