"""The page of calls that run unasked: each reader's grants, their uses, revoking one, and asking about everything."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from approvals.models import ApprovalRequest, AskAlways, AuditEntry, Grant, ToolSettings
from approvals.states import Audience, Width
from tests.approvals.actions.policy.granting import ask, give, terms
from tests.support.desk.pressing import HTMX, at, browser
from tests.support.desk.ruling import apply_policy
from tests.support.markup import Element, forms, parse
from tests.support.people import alice, bob, carol, make_person

pytestmark = pytest.mark.django_db

LEDGER = "/settings/grants/"


def root() -> User:
    return make_person("root", "administer")


def page(user: User, address: str = LEDGER) -> Element:
    answer = browser(user).get(address)
    assert answer.status_code == 200
    return parse(answer.text)


def titles(shown: Element) -> list[str]:
    return [link.words for link in shown.find("a", class_="row-title")]


def address_of(given: Grant) -> str:
    return f"{LEDGER}{given.pk}/"


def test_deciders_and_auditors_see_all_grants_and_others_those_for_their_calls():
    asker, decider, other = alice(), bob(), make_person("dora")
    give(decider, asker, terms(Width.TOOL))
    give(decider, other, terms(), tool="mail")
    both = ["mail with this exact input", "refund with any input"]
    assert (titles(page(decider)), titles(page(carol()))) == (both, both)
    assert (titles(page(asker)), titles(page(other))) == (both[1:], both[:1])
    assert titles(page(make_person("eve"))) == []


def test_the_rules_that_let_calls_run_stand_above_the_grants():
    apply_policy(
        {"name": "Ask", "match": {"tools": ["pay"]}, "then": "ask"},
        {"name": "Reading <b>", "match": {"tools": ["list*"]}, "then": "allow"},
    )
    (rules,) = page(User.objects.get(username="root")).find("section", **{"aria-labelledby": "allowing-rules"})
    (link,) = rules.find("a", class_="row-title")
    assert (link.words, link.attributes["href"]) == ("2. Reading <b>", "/settings/policy/#rule-2")
    assert [line.words for line in rules.find("p", class_="meta")] == ["Allows calls of list* without asking."]
    decider = bob()
    (rules,) = page(decider).find("section", **{"aria-labelledby": "allowing-rules"})
    assert rules.find("p", class_="note")[0].words == "One rule allows calls. Administrators and auditors can read it."
    assert "allowing-rules" not in browser(decider).get(f"{LEDGER}?show=ended").text


def test_a_row_says_the_terms_in_words():
    asker, decider = alice(), bob()
    give(decider, asker, terms(audience=Audience.KEY))
    ask(asker)
    (facts,) = page(decider).find("p", class_="meta")[-1:]
    times = [when.words for when in facts.find("time")]
    assert [span.words.removesuffix(f" {times[number % 2]}") for number, span in enumerate(facts.find("span"))] == [
        "for this API key (requested by alice)",
        "at most 10 times",
        "given by bob",
        "used 1 time, last",
    ]


def test_a_hidden_key_field_is_hidden_in_the_terms_too():
    ToolSettings.objects.create(tool_name="refund", key_fields=["/order", "/pin"], secret_fields=["/pin"])
    asker, decider = alice(), bob()
    value = {"order": "1", "pin": "839271"}
    request = ask(asker, value)
    shown = browser(decider).get(at(request, "grant"), headers=HTMX)
    assert ("The same key fields: order 1, pin ⟨••• hidden" in shown.text, "839271" in shown.text) == (True, False)
    given = give(decider, asker, terms(Width.FIELDS), value)
    for address in (LEDGER, address_of(given)):
        text = browser(decider).get(address).text
        assert ("the same key fields: order, pin" in text, "839271" in text) == (True, False)


def test_the_list_is_narrowed_to_a_tool_an_agent_or_a_key():
    asker, decider = alice(), bob()
    give(decider, asker, terms(), tool="refund", agent="billing", scope="key:1")
    give(decider, asker, terms(), tool="mail", agent="post", scope="key:2")
    (refund, mail) = (["refund with this exact input"], ["mail with this exact input"])
    assert titles(page(decider, f"{LEDGER}?tool=refund")) == refund
    assert titles(page(decider, f"{LEDGER}?agent=post")) == mail
    assert titles(page(decider, f"{LEDGER}?key=1")) == refund
    assert titles(page(decider, f"{LEDGER}?key=3")) == []


@pytest.mark.shows("pages", "told")
def test_a_grant_shows_its_uses_with_links_and_a_use_leads_back_to_it():
    asker, decider = alice(), bob()
    given = give(decider, asker, terms())
    used = [ask(asker) for _ in range(2)]
    shown = page(decider, address_of(given))
    assert [link.attributes["href"] for link in shown.find("a", class_="row-title")] == [
        request.get_absolute_url() for request in reversed(used)
    ]
    (outcome,) = page(decider, used[1].get_absolute_url()).find("div", class_="outcome")
    assert outcome.words.startswith("Approved by grant of bob (use 2 of 10) ")
    assert [link.attributes["href"] for link in outcome.find("a")] == [address_of(given)]


def test_pages_of_uses_and_of_grants_go_on_where_the_last_one_ended(monkeypatch):
    monkeypatch.setattr("approvals.pages.grants.ledger.PAGE", 2)
    asker, decider = alice(), bob()
    given = [give(decider, asker, terms(), tool=f"tool-{number}") for number in range(3)]
    shown = page(decider)
    (older,) = shown.find("a", rel="next")
    assert (len(titles(shown)), titles(page(decider, LEDGER + older.attributes["href"]))) == (
        2,
        ["tool-0 with this exact input"],
    )
    used = [ask(asker, tool="tool-0") for _ in range(3)]
    (earlier,) = page(decider, address_of(given[0])).find("a", rel="next")
    (first,) = page(decider, address_of(given[0]) + earlier.attributes["href"]).find("a", class_="row-title")
    assert first.attributes["href"] == used[0].get_absolute_url()


@pytest.mark.shows("pages", "revoke")
def test_a_revoked_grant_approves_nothing_and_is_among_the_ended_ones():
    asker, decider = alice(), bob()
    given = give(decider, asker, terms())
    client = browser(decider)
    (form,) = forms(client.get(address_of(given)).text, "revoke/")
    answer = client.post(form.action, form.fields | {"reason": "Enough."})
    assert (answer.status_code, answer.headers["Location"]) == (302, address_of(given))
    assert ask(asker).status == "pending"
    assert titles(page(decider)) == []
    ended = page(decider, f"{LEDGER}?show=ended")
    assert titles(ended) == ["refund with this exact input"]
    assert "ended: revoked by bob" in ended.find("p", class_="meta")[-1].words
    entry = AuditEntry.objects.get(event="grant.revoked")
    assert '"reason":"Enough."' in entry.body
    assert forms(client.get(address_of(given)).text, "revoke/") == []


def test_auditors_see_no_button_and_are_refused():
    given, auditor = give(bob(), alice(), terms()), carol()
    client = browser(auditor)
    assert forms(client.get(LEDGER).text, "revoke/") == []
    assert client.post(f"{address_of(given)}revoke/").status_code == 403
    assert browser(make_person("eve")).get(address_of(given)).status_code == 404
    assert browser(make_person("max")).post(f"{address_of(given)}revoke/").status_code == 404
    assert Grant.objects.get().ended_at is None


def test_asking_about_everything_is_shown_on_every_page_until_it_is_switched_off():
    asker, decider = alice(), bob()
    give(decider, asker, terms())
    client = browser(decider)
    (form,) = forms(client.get(LEDGER).text, "switch/")
    assert client.post(form.action, form.fields | {"on": "yes", "reason": "Odd mails."}).status_code == 302
    assert ask(asker).status == "pending"
    waiting = ApprovalRequest.objects.get(status="pending")
    superuser = User.objects.create_superuser("admin")
    places = (
        *((asker, "/"), (carol(), "/workflows/"), (decider, "/settings/"), (root(), LEDGER)),
        *(
            (asker, f"{waiting.get_absolute_url()}record/"),
            (superuser, "/admin/"),
            (superuser, "/admin/approvals/vote/"),
        ),
    )
    for user, address in places:
        (banner,) = page(user, address).find("aside", class_="ask-banner")
        assert banner.words.startswith("Ask about everything is on: grants do not apply. Turned on by bob ")
    assert client.post(form.action, form.fields | {"on": "yes"}, follow=True).status_code == 200
    (form,) = forms(client.get(LEDGER).text, "switch/")
    client.post(form.action, form.fields | {"on": "no"})
    assert page(asker, "/").find("aside", class_="ask-banner") == []
    assert (AskAlways.objects.count(), ask(asker).status) == (0, "approved")


def test_only_deciders_and_administrators_can_stop_all_grants():
    auditor = browser(carol())
    assert forms(auditor.get(LEDGER).text, "switch/") == []
    assert auditor.post(f"{LEDGER}switch/", {"on": "yes"}).status_code == 403
    assert browser(root()).post(f"{LEDGER}switch/", {"on": "yes"}).status_code == 302
    assert AskAlways.objects.get().by_name == "root"


def test_the_audit_page_says_what_happened_to_a_grant_with_a_link_to_it():
    asker, decider = alice(), bob()
    given = give(decider, asker, terms(uses=10, reason="The same order all day."))
    ask(asker)
    browser(decider).post(f"{address_of(given)}revoke/", {"reason": "Enough."})
    auditor = make_person("olga", "view_auditentry", "view_approvalrequest")
    rows = page(auditor, "/audit/").find("li", class_="audit-row")
    said = [
        (row.find("p", class_="audit-event")[0].words, *(note.words for note in row.find("p", class_="audit-note")))
        for row in rows
    ]
    assert [each for each in said if "grant" in each[0].lower()] == [
        ("Grant revoked", "“Enough.”"),
        ("Grant used",),
        ("Approved by grant",),
        ("Grant given", "“The same order all day.”"),
    ]
    links = [link.attributes["href"] for row in rows for link in row.find("a") if link.words == "Grant"]
    assert links == [address_of(given)] * 4
