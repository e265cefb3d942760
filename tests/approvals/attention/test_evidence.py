"""The page for auditors: the records for each duty, with working links, and the same list in the documentation."""

from __future__ import annotations

import pytest

from approvals.pages.audit.evidence import AI_ACT, PAGES, SOC_2
from approvals.record.events import EVENTS
from tests.support.desk.pressing import browser
from tests.support.markup import parse
from tests.support.people import bob, make_person
from tests.support.root import ROOT

pytestmark = pytest.mark.django_db

PAGE = "/audit/evidence/"
READER = ("view_auditentry", "view_approvalrequest")


def links(person) -> set[str]:
    page = parse(browser(person).get(PAGE).text)
    return {link.attributes["href"] for table in page.find("table", class_="evidence") for link in table.find("a")}


def test_the_page_lists_each_duty_with_what_is_kept():
    page = parse(browser(make_person("audrey", *READER)).get(PAGE).text)
    numbers = [cell.words for cell in page.find("th", scope="row")]
    assert numbers == [item.number for item in (*AI_ACT, *SOC_2)]
    (note,) = page.find("p", class_="note")
    assert "not legal advice or a promise of compliance" in note.words


def test_every_link_leads_somewhere():
    administrator = make_person("root", *READER, "administer")
    client, found = browser(administrator), links(administrator)
    assert {href: client.get(href).status_code for href in found} == dict.fromkeys(found, 200)


def test_pages_for_administrators_are_linked_for_them_alone():
    auditor, administrator = make_person("audrey", *READER), make_person("root", *READER, "administer")
    more = links(administrator) - links(auditor)
    names = ("people", "keys", "policy", "scopes", "tools")
    assert more == {f"/settings/{name}/" for name in names}


def test_who_may_not_read_the_audit_log_finds_no_such_page():
    assert browser(bob()).get(PAGE).status_code == 404


def test_every_event_and_page_that_is_named_exists():
    items = (*AI_ACT, *SOC_2)
    assert {event for item in items for event in item.events} - set(EVENTS) == set()
    assert {name for item in items for name in item.pages} - set(PAGES) == set()


def test_the_documentation_has_the_same_lists():
    lines = (ROOT / "docs" / "reference" / "evidence.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
    listed = [row for row in rows if row[0] != "number" and row[0] != "---"]
    assert listed == [
        [item.number, str(item.asks), str(item.kept), ", ".join(f"`{event}`" for event in item.events)]
        for item in (*AI_ACT, *SOC_2)
    ]
