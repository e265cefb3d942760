"""The audit list of the admin: person, verdict and subject with links, and a search; and the product's look."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from approvals.states import Verdict
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, make_request
from tests.support.desk.scopes import make_scope
from tests.support.markup import parse
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db
LIST = "/admin/approvals/auditentry/"


@pytest.fixture
def auditor():
    person = make_person("dave", "view_auditentry", "view_approvalrequest")
    person.is_staff = True
    person.save()
    return browser(person)


def subjects(client, query: str = "") -> list[str]:
    page = parse(client.get(f"{LIST}{query}").text)
    return [cell.words for cell in page.find("td", class_="field-subject")]


def test_a_row_links_to_its_request_and_to_what_the_person_did(auditor):
    request = make_request(alice(), title="Refund <4711>?")
    decide(request, bob(), Verdict.APPROVE)
    page = parse(auditor.get(LIST).text)
    assert page.find("td", class_="field-subject")[0].find("a")[0].attributes["href"] == request.get_absolute_url()
    assert page.find("td", class_="field-subject")[0].words == "Refund <4711>?"
    assert page.find("td", class_="field-person")[0].find("a")[0].attributes["href"] == "/audit/?person=bob"
    assert [cell.words for cell in page.find("td", class_="field-shown_verdict")] == ["Approved", "–"]  # noqa: RUF001


@pytest.mark.parametrize(
    ("query", "found"),
    [("?q=refund", 2), ("?q=deploy", 1), ("?q=nothing", 0), ("?q=%00", 0), ("?verdict=approve", 1), ("?verdict=x", 0)],
)
def test_the_list_is_searched_and_filtered_by_verdict(auditor, query, found):
    owner = alice()
    decide(make_request(owner, title="Refund?"), bob(), Verdict.APPROVE)
    make_request(owner, title="Deploy?")
    assert len(subjects(auditor, query)) == found


@pytest.mark.parametrize("path", ["", "export.csv", "export.jsonl", "export.ocsf"])
def test_the_list_and_its_exports_are_forbidden_to_auditors_whom_scopes_limit(auditor, path):
    assert auditor.get(f"{LIST}{path}").status_code == 200
    make_scope(User.objects.get(username="dave"), by=User.objects.create_superuser("root"))
    assert auditor.get(f"{LIST}{path}").status_code == 403


def test_the_admin_has_the_header_and_the_theme_of_the_product(auditor):
    page = parse(auditor.get("/admin/").text)
    assert "Insights" in page.find("nav", class_="sections")[0].words
    assert "theme-system" in page.find("body")[0].attributes["class"]
    assert [link for link in page.find("script") if "theme.js" in link.attributes.get("src", "")] == []
