"""Decisions of people suggest rules: only for calls approved unchanged every time, and never wider than those."""

from __future__ import annotations

import html
import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from approvals import actions
from approvals.access.standing import standing_of
from approvals.asking.answers import Answer
from approvals.models import ApprovalRequest, ToolSettings
from approvals.policy.rules import evaluate
from approvals.queries.policy.rules.suggestions import suggestions_for
from approvals.states import Door, Priority, Verdict
from tests.approvals.actions.policy.granting import approve, ask
from tests.approvals.policy.writing import facts, policy
from tests.support.desk.pressing import browser
from tests.support.desk.ruling import administrator, apply_policy
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db


def decide(values: list[tuple[dict, bool]], tool: str = "sendEmail", **more) -> None:
    asker, decider = asker_and_decider()
    for value, good in values:
        request = ask(asker, value, tool=tool, **more)
        if good:
            approve(request, decider)
        else:
            actions.decide(request.pk, Answer(Verdict.REJECT), by=decider, via=Door.DASHBOARD)


def asker_and_decider():
    known = {person.username: person for person in User.objects.filter(username__in=["alice", "bob"])}
    return known.get("alice") or alice(), known.get("bob") or bob()


def outcome(suggestion, value: dict, **more) -> str:
    return evaluate(policy(dict(suggestion.rule)), facts(value, tool=suggestion.tool, **more)).then.value


def test_mail_to_one_domain_is_suggested_with_its_evidence():
    ours = [({"to": [f"p{number}@ours.com"], "text": "x"}, True) for number in range(22)]
    decide([*ours, ({"to": ["a@evil.com"], "text": "x"}, False), ({"to": ["a@other.com"], "text": "x"}, True)])
    [suggestion] = suggestions_for(standing_of(administrator()))
    assert (suggestion.rule["name"], suggestion.evidence.approved, suggestion.total) == (
        "sendEmail to @ours.com: approved every time",
        22,
        24,
    )
    assert outcome(suggestion, {"to": ["new@ours.com"], "text": "y"}) == "allow"
    for value in (
        {"to": ["a@other.com"]},
        {"to": ["a@ours.com", "a@evil.com"]},
        {"to": ["a@evil.com,b@ours.com"]},
        {"to": ["a@ours.com"], "bcc": ["a@evil.com"]},
        {"to": "a@ours.com"},
        {"to": []} | {"text": "x", "cc": []},
        {},
    ):
        assert outcome(suggestion, value) == "ask", value


def test_numbers_are_suggested_below_the_first_that_was_not_approved():
    decide([({"amount": number}, number < 90) for number in range(0, 100, 3)], tool="refund")
    [suggestion] = suggestions_for(standing_of(administrator()))
    assert suggestion.rule["match"] == {
        "tools": ["refund"],
        "input": [{"pointer": "", "members": ["amount"]}, {"pointer": "/amount", "at_least": 0, "at_most": 87}],
    }
    assert [outcome(suggestion, {"amount": amount}) for amount in (87, 88, -1, "5")] == ["allow", "ask", "ask", "ask"]


def test_neither_a_whole_tool_is_suggested_nor_one_that_runs_what_it_is_told():
    decide([({"q": f"{number}"}, True) for number in range(20)], tool="search")
    decide([({"text": f"{number}"}, True) for number in range(20)], tool="remember")
    for tool in ("lookUp", "bash", "pwsh", "Write"):
        decide([({"q": "x"}, True)] * 20, tool=tool)
    [suggestion] = suggestions_for(standing_of(administrator()))
    assert (suggestion.tool, suggestion.rule["match"]["input"][1:]) == (
        "lookUp",
        [{"pointer": "/q", "one_of": ["x"]}],
    )


def test_decisions_of_programs_speak_against_a_suggestion_but_never_for_it():
    asker, decider = asker_and_decider()
    machine = Machine(decider)
    for number in range(24):
        machine.decide({"id": ask(asker, {"amount": number}, tool="byProgram").pk}, "approve")
    assert suggestions_for(standing_of(administrator())) == []
    decide([({"amount": number}, True) for number in range(24)], tool="refund")
    machine.decide({"id": ask(asker, {"amount": 24}, tool="refund").pk}, "reject")
    [suggestion] = suggestions_for(standing_of(administrator("eve")))
    assert (suggestion.tool, suggestion.evidence.approved, suggestion.total) == ("refund", 24, 25)
    assert outcome(suggestion, {"amount": 23}) == "allow"
    assert outcome(suggestion, {"amount": 24}) == "ask"


def test_the_numbers_of_a_suggestion_lead_to_the_decisions_that_they_count():
    decide([({"amount": number}, number < 22) for number in range(23)], tool="refund")
    client = browser(administrator())
    page = client.get("/settings/policy/").text
    for address, title, rows in (
        ("/settings/policy/suggestions/?tool=refund", "23 decisions on refund", 23),
        ("/settings/policy/suggestions/?tool=refund&for=yes", "22 approvals that speak for a rule for refund", 22),
    ):
        assert html.escape(address) in page
        listed = parse(client.get(address).text)
        assert (listed.find("h1")[0].words, len(listed.find("a", class_="row-title"))) == (title, rows)


def test_too_few_critical_ones_and_what_one_may_not_see_suggest_nothing():
    decide([({"q": 1}, True)] * 19)
    decide([({"q": 1}, True)] * 25, tool="pay", priority=Priority.CRITICAL)
    assert suggestions_for(standing_of(administrator())) == []
    decide([({"q": 1}, True)])
    assert len(suggestions_for(standing_of(administrator()))) == 1
    assert suggestions_for(standing_of(make_person("mallory"))) == []


def test_a_suggestion_leads_to_a_draft_with_its_replay_and_is_not_made_twice():
    decide([({"q": "x"}, True)] * 20, tool="lookUp")
    client = Client()
    client.force_login(administrator())
    page = client.get("/settings/policy/").content.decode()
    assert "approved unchanged 20 of 20 times in 60 days, by 1 person" in " ".join(page.split())
    assert "Allows calls of lookUp whose input has no members but “q” and q is “x” without asking." in page
    [text] = re.findall(r'name="document" value="([^"]*)"', page)
    draft = client.post("/settings/policy/change/", {"document": html.unescape(text), "step": "preview", "days": "60"})
    assert (draft.status_code, "What it would have done" in draft.content.decode()) == (200, True)
    [suggestion] = suggestions_for(standing_of(administrator()))
    apply_policy(dict(suggestion.rule))
    assert "approved unchanged" not in client.get("/settings/policy/").content.decode()


@pytest.mark.parametrize(
    ("name", "good", "bad"), [("password", "hunter2", "letmein"), ("code", "4711", "0000"), ("pin", 1234, 9999)]
)
def test_no_suggestion_names_a_value_that_is_hidden(name, good, bad):
    ToolSettings.objects.create(tool_name="login", secret_fields=["/code"])
    decide([({name: good}, True)] * 25 + [({name: bad}, False)], tool="login")
    assert suggestions_for(standing_of(administrator())) == []


def test_no_suggestion_names_a_key_in_a_text():
    key = f"ghp_{'a1B2' * 9}"
    decide([({"text": key}, True)] * 25 + [({"text": "other"}, False)], tool="post")
    assert suggestions_for(standing_of(administrator())) == []


@pytest.mark.parametrize("between", [",", ";", " ", "\t", "\r", "\n"])
def test_a_list_of_addresses_in_a_text_is_no_address(between):
    decide([({"to": f"p{number}@ours.com"}, True) for number in range(22)] + [({"to": "a@evil.com"}, False)])
    [suggestion] = suggestions_for(standing_of(administrator()))
    assert outcome(suggestion, {"to": "new@ours.com"}) == "allow"
    assert outcome(suggestion, {"to": f"a@evil.com{between}b@ours.com"}) == "ask"


def test_values_at_deeper_levels_are_suggested_by_pointer_and_nothing_is_let_through_beside_them():
    ours = [
        ({"mail": {"to": [f"p{n}@ours.com"], "meta": {"tag": "a"}}, "rows": [{"k": n % 2}]}, True) for n in range(22)
    ]
    decide([*ours, ({"mail": {"to": ["a@evil.com"], "meta": None}, "rows": []}, False)])
    [suggestion] = suggestions_for(standing_of(administrator()))
    assert suggestion.rule["name"] == "sendEmail to @ours.com: approved every time"
    good = {"mail": {"to": ["x@ours.com"], "meta": {"tag": "a"}}, "rows": [{"k": 1}]}
    assert outcome(suggestion, good) == "allow"
    for mail, rows in (
        ({"to": ["x@evil.com"]}, []),
        ({"to": ["x@ours.com"], "bcc": ["x@evil.com"]}, []),
        ({"to": ["x@ours.com"], "meta": {"tag": "b"}}, [{"k": 1}]),
        ({"to": ["x@ours.com"], "meta": {"tag": "a", "more": 1}}, [{"k": 1}]),
        ({"to": ["x@ours.com"], "meta": {"tag": "a"}}, [{"k": 1, "other": 2}]),
        ({"to": ["x@ours.com"], "meta": {"tag": "a"}}, [{"k": 2}]),
        ({"meta": {}}, []),
        ("to", []),
    ):
        assert outcome(suggestion, {"mail": mail, "rows": rows}) == "ask", (mail, rows)


def test_a_value_of_a_customer_is_suggested_by_its_pointer():
    decide([({"customer": {"country": "DE" if n % 2 else "US"}}, bool(n % 2)) for n in range(44)], tool="refund")
    [suggestion] = suggestions_for(standing_of(administrator()))
    assert suggestion.rule["name"] == "refund by customer.country: approved every time"
    assert suggestion.rule["match"]["input"] == [
        {"pointer": "", "members": ["customer"]},
        {"pointer": "/customer", "members": ["country"]},
        {"pointer": "/customer/country", "one_of": ["DE"]},
    ]


def test_secrets_and_what_is_too_deep_or_too_wide_suggest_nothing():
    for name in ("password", "ok"):
        decide([({name: "x" if n % 2 else "y"}, bool(n % 2)) for n in range(44)], tool=f"{name}-tool")
    deep = {"a": {"b": {"c": {"d": {"e": 1}}}}}
    decide([(deep, True)] * 20, tool="deep")
    decide([({f"m{n}": 1 for n in range(40)}, True)] * 20, tool="wide")
    assert [each.tool for each in suggestions_for(standing_of(administrator()))] == ["ok-tool"]
    # A name that a condition would have to escape is none of these.
    decide([({"in": 1, "not/plain": 1}, True)] * 20, tool="odd")
    assert {each.tool for each in suggestions_for(standing_of(administrator()))} == {"ok-tool", "odd"}


def test_the_evidence_names_how_many_people_decided_and_the_latest_decisions():
    decide([({"q": "x"}, True)] * 20, tool="lookUp")
    approve(ask(asker_and_decider()[0], {"q": "x"}, tool="lookUp"), make_person("eve", "decide_approvalrequest"))
    [suggestion] = suggestions_for(standing_of(administrator()))
    evidence = suggestion.evidence
    assert (evidence.approved, evidence.people, len(evidence.shown), evidence.more) == (21, 2, 10, 11)
    assert [request.decision.by_name for request in evidence.shown] == ["eve", *["bob"] * 9]


@pytest.mark.parametrize("tool", ["*", "send*"])
def test_a_tool_whose_name_would_be_a_pattern_suggests_nothing(tool):
    decide([({"a": 1}, True)] * 25, tool=tool)
    assert suggestions_for(standing_of(administrator())) == []


def test_decisions_on_a_name_in_another_case_count_because_the_rule_fits_it():
    decide([({"a": 1}, True)] * 25, tool="send")
    assert [each.tool for each in suggestions_for(standing_of(administrator()))] == ["send"]
    decide([({"a": 1}, False)], tool="Send")
    assert suggestions_for(standing_of(administrator())) == []


def test_calls_with_files_suggest_nothing():
    decide([({"a": 1}, True)] * 25, tool="send")
    ApprovalRequest.objects.update(attachments=[{"id": "1", "name": "a.pdf"}])
    assert suggestions_for(standing_of(administrator())) == []
