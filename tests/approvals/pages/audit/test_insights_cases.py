"""Each number of Insights and of *How you decide* leads to the requests that it counts."""

from __future__ import annotations

import pytest

from approvals.states import Kind, Verdict
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, make_request
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice, bob, mallory

pytestmark = pytest.mark.django_db

LEFT = {"parts": 2, "values": 3, "characters": 0}


@pytest.fixture
def people():
    """The requester and the decider of a request of each outcome; a program decided one with a key of the decider."""
    owner, decider = alice(), bob()
    for verdict, count in ((Verdict.APPROVE, 3), (Verdict.REJECT, 2)):
        for _ in range(count):
            more = {"unseen": LEFT} if verdict == Verdict.APPROVE else {}
            decide(make_request(owner, tool_name="refund", title="Refund? " * 20), decider, verdict, **more)
    decide(make_request(owner, Kind.QUESTION), decider, Verdict.RESPOND, answer="yes")
    Machine(decider).decide(Machine(owner).ask(), "approve")
    return owner, decider


def numbers(page: str, beginning: str) -> dict[str, str]:
    """Return the number of each link that begins like this."""
    links = parse(page).find("main")[0].find("a")
    return {link.attributes["href"]: link.words for link in links if link.attributes["href"].startswith(beginning)}


def rows(client, address: str) -> int:
    page = client.get(address)
    assert page.status_code == 200, address
    return len(parse(page.text).find("a", class_="row-title"))


def test_each_number_of_insights_leads_to_as_many_requests(people):
    for person in people:
        client = browser(person)
        found = numbers(client.get("/insights/").text, "/insights/cases/")
        counts = {address: words for address, words in found.items() if words.isdecimal()}
        assert len(counts) > 20
        assert {address: rows(client, address) for address in counts} == {
            address: int(words) for address, words in counts.items()
        }


def test_a_decision_of_a_program_is_counted_by_itself(people):
    client = browser(people[1])
    found = numbers(client.get("/insights/").text, "/insights/cases/?days=30&of=")
    named = {address.rpartition("=")[2]: words for address, words in found.items()}
    assert named == {"decided": "6", "approved": "3", "automatic": "1", "hasty": named["hasty"]}


def test_each_number_of_how_you_decide_leads_to_its_decisions(people):
    client = browser(people[1])
    found = numbers(client.get("/settings/attention/").text, "/attention/cases/?of=")
    assert set(found) == {f"/attention/cases/?of={of}" for of in ("on_pages", "hasty", "unseen", "series")}
    assert {address: rows(client, address) for address in found} == {
        address: int(words.split()[0]) for address, words in found.items()
    }
    assert rows(browser(mallory()), "/attention/cases/?of=on_pages") == 0


@pytest.mark.parametrize(
    "query",
    [
        *("", "of=", "of=nothing", "of=decided&days=8", "of=decided&day=yesterday", "of=decided&skip=-1"),
        *("of=decided&skip=9999999999", "of=decided&tool=" + "x" * 101, "of=decided&of=hasty", "of=decided&more=1"),
        "of=decided&tool=a%00",
    ],
)
def test_an_address_that_means_nothing_is_refused(query):
    assert browser(bob()).get(f"/insights/cases/?{query}").status_code == 422


@pytest.mark.parametrize("query", ["", "of=decided", "of=hasty&skip=x", "of=hasty&skip=99999999"])
def test_an_address_of_own_cases_that_means_nothing_is_refused(query):
    assert browser(bob()).get(f"/attention/cases/?{query}").status_code == 422


def test_cases_come_in_pages_and_only_of_what_one_may_see(people):
    owner, decider = people
    for _ in range(50):
        decide(make_request(owner, tool_name="many"), decider, Verdict.REJECT)
    client, address = browser(decider), "/insights/cases/?of=rejected&tool=many"
    assert rows(client, address) == 50
    decide(make_request(owner, tool_name="many"), decider, Verdict.REJECT)
    (link,) = [one for one in parse(client.get(address).text).find("a") if one.attributes.get("rel") == "next"]
    assert rows(client, "/insights/cases/" + link.attributes["href"]) == 1
    assert rows(browser(mallory()), address) == 0
