"""Suggestions of fields for a person or a tool, by reader."""

from __future__ import annotations

import pytest

from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.markup import parse
from tests.support.people import alice, bob, make_person, mallory

pytestmark = pytest.mark.django_db


def test_names_that_contain_the_text_are_suggested_to_those_who_may_list_them():
    owner, auditor = alice(), make_person("audit", "view_auditentry")
    gone = make_person("gal")
    gone.is_active = False
    gone.save()
    for tool in ("refund", "mail", "refund", "mailer"):
        make_request(owner, tool_name=tool)
    make_request(owner, tool_name="")

    def suggested(person, address: str) -> tuple[int, list[str]]:
        response = browser(person).get(f"/suggestions/{address}")
        return response.status_code, response.json()["values"] if response.status_code == 200 else []

    assert suggested(auditor, "people/?q=AL") == (200, ["alice"])
    assert suggested(auditor, "people/") == (200, ["alice", "audit"])
    assert suggested(auditor, "tools/?q=MAIL") == (200, ["mail", "mailer"])
    assert suggested(administrator(), "tools/?q=und") == (200, ["refund"])
    assert suggested(auditor, "tools/?q=%00") == (422, [])
    assert suggested(auditor, f"tools/?q={'x' * 301}") == (422, [])
    assert suggested(auditor, "keys/") == (404, [])
    for other in (owner, bob(), mallory()):
        assert suggested(other, "people/") == (404, [])


def test_searches_are_completed_from_the_requests_that_a_person_sees():
    owner = alice()
    own = {"customer": "ACME GmbH", "card_number": {"no": "4711"}, "password": "hunter2", "tool": "other", "amount": 5}
    make_request(owner, tool_name="wire_transfer", input=own)
    make_request(bob(), tool_name="wiretap", input={"customer": "Bolt"})

    def completed(person, text: str) -> list[str]:
        return browser(person).get("/suggestions/searches/", {"q": text}).json()["values"]

    assert completed(owner, "") == []
    assert completed(owner, "a") == ["amount>", "agent:", "amount:"]
    assert completed(owner, "late cust") == ["late customer:"]
    assert completed(owner, "late customer:") == ['late customer:"ACME GmbH"']
    assert completed(owner, "TOOL:w") == ["tool:wire_transfer"]
    # What is hidden, and what is another person's, completes nothing.
    assert [completed(owner, text) for text in ("password:", "customer:b", "tool:o")] == [[], [], []]
    stranger = mallory()
    assert [completed(stranger, text) for text in ("cust", "tool:")] == [[], []]
    assert browser(owner).get("/suggestions/searches/?q=%00").status_code == 422
    assert browser(owner).get("/suggestions/searches/", {"q": "x" * 301}).status_code == 422


def test_fields_for_people_and_tools_ask_for_suggestions():
    auditor, admin = make_person("audit", "view_auditentry"), administrator()
    fields = []
    for person, address in ((auditor, "/audit/"), (admin, "/settings/keys/"), (admin, "/settings/rules/")):
        page = parse(browser(person).get(address).text)
        fields += [
            (field.attributes["name"], field.attributes["data-source"])
            for field in page.find("input")
            if "data-combobox" in field.attributes
        ]
    assert fields == [
        ("q", "/suggestions/searches/"),
        ("person", "/suggestions/people/"),
        ("tool", "/suggestions/tools/"),
        ("user", "/suggestions/people/"),
        ("person", "/suggestions/people/"),
        ("tool_name", "/suggestions/tools/"),
    ]
