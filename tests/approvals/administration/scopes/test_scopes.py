"""Administration of approver scopes: the effect of a change is shown first, and the change is on record."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import translation

from approvals.administration.scopes.forms import ScopeForm
from approvals.administration.scopes.queries import words_of
from approvals.administration.tools.actions import store_tool_settings
from approvals.models import ApproverScope, AuditEntry
from approvals.policy.documents import match_from
from tests.support.desk.requests import make_request
from tests.support.desk.scopes import make_scope
from tests.support.people import alice, bob, carol, make_person

pytestmark = pytest.mark.django_db

TERMS = {"name": "Refunds", "people": "bob", "may": "decide", "limit": "100", "tools": "refund*"}


@pytest.fixture
def admin() -> User:
    return make_person("ann", "administer", "view_approvalrequest", "view_auditentry")


@pytest.fixture
def client(admin) -> Client:
    client = Client()
    client.force_login(admin)
    return client


def previewed(client: Client, address: str = "/settings/scopes/", **terms: str) -> tuple[str, dict[str, str]]:
    """The page that shows the effect of these terms, and the fields of its button."""
    page = client.post(address, TERMS | terms)
    assert page.status_code == 200, page.content.decode()
    html = page.content.decode()
    (digest,) = re.findall(r'name="previewed" value="([^"]+)"', html)
    return html, TERMS | terms | {"previewed": digest}


def test_a_scope_is_saved_only_after_its_preview(client):
    bob()
    _html, sent = previewed(client)
    assert ApproverScope.objects.count() == 0
    refused = client.post("/settings/scopes/", sent | {"limit": "5000"})
    assert (refused.status_code, ApproverScope.objects.count()) == (200, 0)
    saved = client.post("/settings/scopes/", sent)
    stored = ApproverScope.objects.get()
    assert (saved.status_code, saved["Location"]) == (302, "/settings/scopes/")
    assert (stored.match, stored.may, stored.limit) == ({"tools": ["refund*"]}, "decide", 100.0)
    assert [person.username for person in stored.people.all()] == ["bob"]


def test_the_preview_says_who_loses_and_what_no_one_could_decide(client):
    bob(), carol(), make_person("erin", "decide_approvalrequest")
    asker = alice()
    make_request(asker, tool_name="refund", input={"amount": 50})
    make_request(asker, tool_name="refund", input={"amount": 500})
    html, _sent = previewed(client)
    text = " ".join(re.sub(r"<[^>]+>", " ", html).split())
    assert "This is the first scope." in text
    assert "bob sees 2, then 2 decides 2, then 1 Loses" in text
    assert "erin sees 2, then 0 decides 2, then 0 Loses" in text
    assert "carol sees 2, then 0 decides 0, then 0 Loses" in text
    assert "Only superusers could decide these waiting requests:" in text


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_the_preview_says_why_a_scope_leaves_a_request_to_no_one(client, admin):
    bob()
    root = User.objects.create_superuser("root")
    make_request(alice(), tool_name="payroll", title="Pay the salaries?")
    make_request(User.objects.get(username="alice"), tool_name="refund", title="Refund it?", input={"amount": 500})
    client.force_login(root)
    text = text_of(previewed(client)[0])
    assert "Pay the salaries? “Refunds” does not match: tool: “payroll” is not “refund*”." in text
    assert "Refund it? “Refunds” matches, but the amount is above its limit, or missing." in text
    assert "Only superusers could decide approvals above 100, or without an amount." in text


@pytest.mark.parametrize(
    ("terms", "warns"),
    [
        ({"people": "carol"}, True),
        ({"may": "answer", "limit": ""}, True),
        ({"may": "see", "limit": ""}, True),
        ({"limit": ""}, False),
    ],
)
def test_a_first_scope_that_leaves_no_one_who_may_decide_is_warned_of(client, terms, warns):
    bob(), carol()
    warning = "Only superusers could decide approvals: no scope lets people with a deciding role decide."
    assert (warning in text_of(previewed(client, **terms)[0])) is warns


def test_a_change_that_takes_the_last_one_who_may_decide_is_warned_of(client, admin):
    decider = bob()
    carol()
    address = f"/settings/scopes/{make_scope(decider, by=admin).pk}/"
    warning = "Only superusers could decide approvals"
    assert warning not in previewed(client, address, limit="")[0]
    assert warning in previewed(client, address, people="carol", limit="")[0]
    # A person with `ignore_scopes` always may.
    make_person("erin", "decide_approvalrequest", "ignore_scopes")
    assert warning not in previewed(client, address, people="carol", limit="")[0]


def test_deleting_the_scope_of_the_last_one_who_may_decide_is_warned_of(client, admin):
    decider, auditor = bob(), carol()
    only = make_scope(decider, by=admin)
    address = f"/settings/scopes/{only.pk}/delete/"
    warning = "Only superusers could decide approvals"
    # Without any scope, everyone with the role decides again.
    assert warning not in client.get(address).content.decode()
    make_scope(auditor, by=admin, may="see")
    assert warning in client.get(address).content.decode()


def test_the_list_of_scopes_names_what_no_one_can_decide(client, admin):
    make_scope(bob(), by=admin, tools=["refund"])
    make_request(alice(), tool_name="payroll", title="Pay the salaries?")
    make_request(User.objects.get(username="alice"), tool_name="refund", title="Refund it?")
    free = User.objects.create_superuser("root")
    client.force_login(free)
    page = client.get("/settings/scopes/").content.decode()
    assert ("Pay the salaries?" in page, "Refund it?" in page) == (True, False)


def test_each_change_is_on_record(client, admin):
    decider = bob()
    team = Group.objects.create(name="payments")
    client.post("/settings/scopes/", previewed(client)[1])
    scope = ApproverScope.objects.get()
    address = f"/settings/scopes/{scope.pk}/"
    client.post(address, previewed(client, address, limit="200", teams=str(team.pk))[1])
    client.post(f"{address}delete/")
    entries = AuditEntry.objects.filter(event__startswith="scope.").order_by("pk")
    assert [(entry.event, entry.actor_name) for entry in entries] == [
        ("scope.created", admin.username), ("scope.changed", admin.username), ("scope.deleted", admin.username)
    ]  # fmt: skip
    changed = entries[1].data
    assert (changed["before"]["limit"], changed["after"]["limit"], changed["after"]["teams"]) == (
        100,
        200,
        ["payments"],
    )
    assert changed["after"]["people"] == [decider.username]


def test_the_form_of_a_scope_keeps_everything_that_its_match_says(admin):
    asker = alice()
    match = {
        "tools": ["refund*"],
        "agents": ["billing"],
        "servers": ["crm"],
        # The numbers of removed people stay: without any, the scope would fit everyone's requests.
        "requesters": [asker.pk, 999999999],
        "kinds": ["approval"],
        "priorities": ["high"],
        "sources": ["api", "chat"],
        "input": [{"pointer": "/country", "one_of": ["DE", "AT"]}],
    }
    shown = ScopeForm.of(make_scope(bob(), by=admin, **match)).initial
    assert shown["requesters"].splitlines() == ["alice", "#999999999"]
    form = ScopeForm({name: "" if value is None else value for name, value in shown.items()})
    assert form.is_valid(), form.errors
    assert form.terms.match == match
    words = words_of("see", None, match_from(match))
    assert "on the MCP server crm" in words
    assert "from alice or #999999999" in words


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("requesters", "nobody", "There is no person with the username “nobody”."),
        ("requesters", "#x", "There is no person with the username “#x”."),
        ("servers", "a" * 201, "must be text of 1 to 200 characters"),
        ("sources", "moon", "Select a valid choice."),
        ("people", "nobody", "There is no active person with the username “nobody”."),
        ("people", "", "Name at least one person or team."),
        ("values", "[{", "This is not valid JSON."),
        ("values", '[{"pointer": "amount"}]', "must be a JSON pointer"),
        ("limit", "-1", "greater than or equal to 0"),
        ("limit", "nan", "Enter a number."),
        ("name", "", "This field is required."),
    ],
)
def test_a_wrong_field_is_named_in_words(client, field, value, words):
    bob()
    page = client.post("/settings/scopes/", TERMS | {field: value})
    assert (page.status_code, ApproverScope.objects.count()) == (422, 0)
    assert words in page.content.decode()


def test_two_scopes_cannot_have_one_name(client, admin):
    bob()
    sent = previewed(client)[1]
    client.post("/settings/scopes/", sent)
    again = client.post("/settings/scopes/", sent)
    assert (again.status_code, ApproverScope.objects.count()) == (422, 1)


def test_only_administrators_see_the_pages(admin):
    decider = bob()
    scope = make_scope(decider, by=admin)
    browser = Client()
    browser.force_login(decider)
    addresses = ("/settings/scopes/", f"/settings/scopes/{scope.pk}/", f"/settings/scopes/{scope.pk}/delete/")
    assert {browser.get(address).status_code for address in addresses} == {404}
    assert {browser.post(address, TERMS).status_code for address in addresses} == {404}


def words(client: Client, address: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", client.get(address).content.decode()).split())


def test_the_pages_of_a_person_and_of_a_tool_say_who_may_decide_what(client, admin):
    decider, other = bob(), make_person("erin", "decide_approvalrequest")
    make_request(alice(), tool_name="refund")
    person, tool = f"/settings/people/{decider.pk}/", "/settings/tools/refund/"
    assert "Every request. Their role allows it, and no approver scope limits it." in words(client, person)
    assert "Everyone with the role Approver, because there are no approver scopes." in words(client, tool)
    team = Group.objects.create(name="payments")
    decider.groups.add(team)
    scope = make_scope(team, by=admin, tools=["refund"], limit=100)
    said = "May see, answer and decide calls of refund. Approvals only up to an amount of 100."
    assert f"{scope.name} : {said} As a member of payments." in words(client, person)
    assert f"{scope.name} : {said} Teams: payments" in words(client, tool)
    assert "No approver scope names this person." in words(client, f"/settings/people/{other.pk}/")


def test_who_decides_cannot_join_a_team_that_a_scope_names():
    both, team = make_person("hal", "administer", "decide_approvalrequest"), Group.objects.create(name="payments")
    make_scope(team, by=User.objects.create_superuser("root"))
    browser = Client()
    browser.force_login(both)
    page = browser.post(f"/settings/people/{both.pk}/", {"email": "", "teams": [str(team.pk)]})
    assert (page.status_code, list(both.groups.all())) == (422, [])
    assert "You cannot join a team that an approver scope names." in page.content.decode()


def test_a_scope_is_in_the_language_of_its_reader_with_its_numbers():
    match = match_from({"tools": ["refund"], "input": [{"pointer": "/country", "equals": "DE"}]})
    assert words_of("decide", 1234.5, match) == (
        "May see, answer and decide calls of refund whose country is “DE”. Approvals only up to an amount of 1,234.5."
    )
    with translation.override("de"):
        assert words_of("decide", 1234.5, match).endswith("Genehmigungen nur bis zu einem Betrag von 1.234,5.")


def test_administrators_see_what_four_eyes_leave_no_one_to_decide(client, admin):
    both = make_person("hal", "decide_approvalrequest")
    settings = {"key_fields": [], "reason_required": False, "min_priority": "", "prepared_answers": []}
    store_tool_settings("refund", settings | {"control": "four_eyes"}, by=admin)
    request = make_request(both, tool_name="refund")
    assert request.get_absolute_url() in client.get("/settings/scopes/").content.decode()
    make_person("erin", "decide_approvalrequest")
    assert request.get_absolute_url() not in client.get("/settings/scopes/").content.decode()
