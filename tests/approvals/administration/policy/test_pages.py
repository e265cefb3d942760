"""The pages of the policy: a change is drafted as rules or as JSON, replayed, applied with a reason, and confirmed."""

from __future__ import annotations

import html
import json
import re

import pytest
from django.test import Client

from approvals import actions
from approvals.asking.answers import Answer
from approvals.models import PolicyVersion
from approvals.queries.policy.rules.policy_versions import live_version
from approvals.states import Door, Verdict
from tests.approvals.actions.policy.granting import ask
from tests.support.desk.browser_form import sent_by_browser
from tests.support.desk.ruling import administrator, apply_policy
from tests.support.desk.waiting_changes import waiting_change
from tests.support.machine import Machine
from tests.support.people import alice, bob, mallory

pytestmark = pytest.mark.django_db

CHANGE = "/settings/policy/change/"
ALLOW = {"name": "Small refunds", "match": {"tools": ["refund"]}, "when": "input.amount < 500", "then": "allow"}
RULE = {
    "rule-name": "Small refunds",
    "rule-tools-0-name": "refund",
    "rule-when": "input.amount < 500",
    "rule-then": "allow",
}

ALLOWED = {"rules": [ALLOW]}


def signed_in(person) -> Client:
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def client() -> Client:
    return signed_in(administrator())


def draft_text_in(page) -> str:
    """The text that the page would send as the document."""
    text = r'<textarea id="document" name="document"[^>]*>(.*?)</textarea>'
    return html.unescape(re.search(text, page.content.decode(), re.DOTALL)[1])


def draft_in(page) -> dict:
    return json.loads(draft_text_in(page))


def words(page) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page.content.decode())).split())


def post(client: Client, document: object, step: str, **more: str):
    text = document if isinstance(document, str) else json.dumps(document)
    return client.post(CHANGE, {"document": text, "step": step, "based_on": "", **more})


def test_a_rule_is_written_in_the_form_and_read_in_both_views(client):
    page = post(client, {"rules": []}, "store:", **RULE)
    assert (page.status_code, draft_in(page)) == (200, {"rules": [ALLOW]})
    assert "1. Small refunds Allows calls of refund without asking. Only if: input.amount < 500" in words(page)
    edited = post(client, ALLOWED, "edit:0")
    assert 'value="Small refunds"' in edited.content.decode()
    page = post(client, ALLOWED, "store:0", **RULE | {"rule-then": "ask", "rule-seats-0-people": "bob"})
    assert (page.status_code, "There is no active user “bob”" in words(page)) == (422, True)
    assert re.search(r'name="rule-seats-0-people" value="bob"[^>]* autofocus', page.content.decode())
    bob()
    page = post(
        client,
        {"rules": [ALLOW]},
        "store:0",
        **RULE | {"rule-then": "ask", "rule-seats-0-people": "bob"},
        **{"rule-after": "10", "rule-unit": "60", "rule-at_deadline": "halt"},
    )
    [rule] = draft_in(page)["rules"]
    assert rule["ask"] == {"stages": [{"groups": [{"people": ["bob"]}]}], "deadline": {"after": 600, "then": "halt"}}
    asks = "Needs the approval of bob. The requester may not decide."
    assert f"{asks} Stops the run if no one decides within 10 minutes." in words(page)


def test_the_form_warns_of_a_calculation_with_a_number_as_it_is_sent(client):
    warning = "The condition calculates with a value as it is sent"
    page = post(client, {"rules": []}, "store:", **RULE | {"rule-when": "input.amount * 2 < 500"})
    assert (page.status_code, warning in words(page)) == (200, True)
    page = post(client, draft_in(page), "store:0", **RULE | {"rule-when": "double(input.amount) * 2.0 < 500.0"})
    assert (page.status_code, warning in words(page)) == (200, False)
    refused = post(client, {"rules": []}, "store:", **RULE | {"rule-when": "1 == 1.0"})
    assert 'name="rule-when" cols="40" rows="2"' in refused.content.decode(), "the form is shown again"
    assert "Write both numbers with a decimal point, as in 1.0, or neither" in words(refused)


def test_a_change_in_the_form_keeps_the_rest_of_the_rule(client):
    bob()
    ask = {"stages": [{"groups": [{"people": ["bob"]}, {}]}], "reminders": [90], "channels": ["mail"], "veto": False}
    rule = {"name": "a", "then": "ask", "match": {"servers": ["crm"]}, "ask": ask}
    edited = post(client, {"rules": [rule]}, "edit:0")
    sent = dict(sent_by_browser(edited.content.decode()).lists()) | {"step": "store:0"}
    text = json.dumps({"rules": [rule]})
    unchanged = client.post(CHANGE, sent | {"document": text})
    assert html.escape(text) in unchanged.content.decode(), "byte for byte"
    sent |= {"rule-name": "b", "rule-veto": "on"}
    page = client.post(CHANGE, sent)
    assert json.dumps(draft_in(page)["rules"]) == json.dumps([rule | {"name": "b", "ask": ask | {"veto": True}}])


def test_rows_are_added_and_removed_and_keep_what_was_typed(client):
    typed = RULE | {"place": "", "rule-name": "", "rule-values-0-pointer": "amount", "rule-values-0-value": "7",
                    "rule-values-0-test": "amount.at_most"}  # fmt: skip
    more = post(client, {"rules": []}, "more:values", **typed).content.decode()
    assert re.findall(r'name="rule-values-(\d)-pointer"', more) == ["0", "1"]
    assert re.search(r'name="rule-values-1-pointer"[^>]* autofocus', more)
    assert ("This field is required" in more, 'value="amount"' in more) == (False, True)
    assert ("Remove value 2" in more, "Remove tool 1" in more) == (True, True)
    less = post(client, {"rules": []}, "less:rule-values-0", **typed | {"rule-values-3-pointer": "iban"})
    assert re.findall(r'name="rule-values-\d-pointer" value="(\w+)"', less.content.decode()) == ["iban"]
    for odd in ("more:", "more:nonsense", "less:", "less:rule", "new:99", "new:x", "say", "say:x"):
        assert post(client, {"rules": []}, odd, **typed).status_code == 200, odd


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("rule-name", "", "This field is required."),
        ("rule-values-0-value", "", "Enter a value."),
        ("rule-values-0-value", "ten", "“ten” is not a number. Enter one such as 100 or 2.5."),
        ("rule-values-0-value", "[", "“[” is not valid JSON. Put text in double quotes."),
        ("rule-values-0-pointer", "", "Enter the name of a field, such as amount or customer.country."),
        ("rule-values-0-value", "20\r\n10", "Enter two numbers, one per line, the smaller one first."),
        ("rule-values-0-test", "amount.at_most", "Enter only one value."),
        ("rule-values-0-test", ".ends_with", "Enter only one value."),
        ("rule-tools-0-name", "x" * 300, "Must be text of 1 to 200 characters"),
        ("rule-seats-1-join", "or", "Join the groups of one stage by “and” or by “or”, not by both."),
        ("rule-seats-0-votes", "0", "Ensure this value is greater than or equal to 1."),
        ("rule-seats-0-groups", "team:gone", "There is no team “gone”"),
        ("rule-after", "", "Enter how long people have."),
        ("rule-at_deadline", "", "Choose what happens at the deadline."),
        ("rule-steps-0-after", "", "Enter a number."),
        ("rule-when", "tol == 1", "Line 1, column 1"),
    ],
)
def test_a_wrong_value_keeps_all_input_and_has_the_focus(client, field, value, sentence):
    valid = RULE | {
        "rule-then": "ask", "rule-values-0-pointer": "amount", "rule-values-0-test": "amount.between",
        "rule-values-0-value": "10\r\n20", "rule-after": "2", "rule-at_deadline": "halt",
        **{f"rule-seats-{number}-votes": "1" for number in range(3)}, "rule-seats-1-join": "and",
        "rule-seats-2-join": "and", "rule-steps-0-after": "1", "rule-steps-0-people": "root",
    }  # fmt: skip
    assert post(client, {"rules": []}, "store:", **valid).status_code == 200
    page = post(client, {"rules": []}, "store:", **valid | {field: value})
    assert (page.status_code, sentence in words(page)) == (422, True), words(page)
    assert len(re.findall("autofocus", page.content.decode())) == 1
    sent = sent_by_browser(page.content.decode()).dict()
    kept = valid | {field: value}
    assert {name: sent.get(name, "") for name in kept} == kept


def test_the_rule_is_shown_in_words_with_what_it_would_have_done(client):
    decider, asker = bob(), alice()
    rejected, large = ask(asker, {"amount": 7}), ask(asker, {"amount": 900})
    actions.decide(rejected.pk, Answer(Verdict.REJECT), by=decider, via=Door.DASHBOARD)
    page = post(client, {"rules": []}, "say", **RULE)
    text = words(page)
    assert "Allows calls of refund without asking. Only if: input.amount < 500" in text
    assert "Allowed 1 · denied 0 · asked about 0 Compared with 2 requests" in text
    live = page.content.decode().partition('id="rule-live"')[2].partition("</aside>")[0]
    assert re.findall(r"/requests/([0-9a-f-]{36})/", live) == [str(rejected.pk)]
    assert '<option value="amount">' in page.content.decode(), "a known field of the tool"
    unnamed = words(post(client, {"rules": []}, "say", **RULE | {"rule-name": ""}))
    assert ("Rule 1: calls of refund" in unnamed, "“…”" in unnamed) == (True, False)
    assert "The sentence appears once the rule is complete." in words(post(client, {"rules": []}, "say"))
    assert f"{large.pk}" in post(client, {"rules": []}, "new").content.decode(), "a pending one"


@pytest.mark.parametrize(
    ("position", "order"),
    [("0", "new, a, b"), ("1", "a, new, b"), ("2", "a, b, new"), ("", "a, b, new"), ("99", "a, b, new")],
)
def test_a_new_rule_is_put_at_the_chosen_position(client, position, order):
    rules = [{"name": name, "then": "ask", "match": {"tools": [name]}} for name in "ab"]
    assert 'name="position"' in post(client, {"rules": rules}, "new").content.decode()
    page = post(client, {"rules": rules}, "store:", **RULE | {"rule-name": "new", "position": position})
    assert ", ".join(rule["name"] for rule in draft_in(page)["rules"]) == order
    number = order.split(", ").index("new") + 1
    assert f"“new” is now rule {number} of 3 in the draft." in words(page)


def test_the_form_says_which_rule_takes_the_calls_of_a_new_one(client):
    warning = "No call reaches this rule: rule 1, “All refunds”, takes them."
    rules = [{"name": "All refunds", "match": {"tools": ["ref*"]}, "then": "ask"}]
    assert warning in words(post(client, {"rules": rules}, "say", **RULE))
    assert warning not in words(post(client, {"rules": rules}, "say", **RULE, position="0"))
    page = post(client, {"rules": rules}, "store:", **RULE)
    assert (page.status_code, warning in words(page)) == (200, True), "it is no refusal"


def test_rules_are_moved_and_removed(client):
    rules = [{"name": name, "then": "ask"} for name in "abc"]

    def order(step: str) -> str:
        return "".join(rule["name"] for rule in draft_in(post(client, {"rules": rules}, step))["rules"])

    assert [order(step) for step in ("up:2", "down:0", "up:0", "down:2", "remove:1")] == [
        "acb",
        "bac",
        "abc",
        "abc",
        "ac",
    ]
    assert [order(step) for step in ("remove:9", "edit:x", "up:-1", "nonsense")] == ["abc"] * 4


def test_the_switches_of_the_policy_are_turned_on_and_off_in_the_draft(client):
    for name in ("four_eyes", "repeat_rejections"):
        assert draft_in(post(client, {"rules": []}, name)) == {name: True, "rules": []}
        assert draft_in(post(client, {"rules": [], name: True}, name)) == {name: False, "rules": []}
    post(client, {"rules": []}, "discard")
    apply_policy(repeat_rejections=True)
    for path in ("/settings/policy/", "/settings/policy/change/", "/settings/policy/1/"):
        assert "A request that a person rejected in the last 7 days is rejected again" in words(client.get(path)), path


def test_a_change_is_replayed_and_then_applied_with_a_reason(client):
    decider, asker = bob(), alice()
    rejected = ask(asker, {"amount": 7})
    actions.decide(rejected.pk, Answer(Verdict.REJECT), by=decider, via=Door.DASHBOARD)
    page = post(client, {"rules": [ALLOW]}, "preview")
    text = words(page)
    assert "Would have been allowed, but a person rejected it: 1 Refund?" in text
    assert f"/requests/{rejected.pk}/" in page.content.decode()
    previewed = re.search(r'name="previewed" value="([^"]+)"', page.content.decode())[1]
    without = post(client, {"rules": [ALLOW]}, "apply", previewed=previewed, reason=" ")
    assert (without.status_code, live_version()) == (422, None)
    assert re.search(
        r'<textarea id="reason"[^>]*aria-invalid="true" aria-describedby="refusal"', without.content.decode()
    )
    other = post(client, {"rules": []}, "apply", previewed=previewed, reason="Because.")
    assert (other.status_code, live_version()) == (200, None), "only what was previewed is applied"
    applied = post(client, {"rules": [ALLOW]}, "apply", previewed=previewed, reason="Because.")
    assert (applied.status_code, applied["Location"]) == (302, "/settings/policy/")
    assert ask(asker, {"amount": 7}).status == "approved"
    text = words(client.get("/settings/policy/"))
    assert "Version 1 is live." in text
    assert "1. Small refunds" in text


def test_a_replay_says_one_net_time_and_each_number_shows_its_cases(client):
    decider, asker = bob(), alice()
    small, large = ask(asker, {"amount": 7}), ask(asker, {"amount": 900})
    for request in (small, large):
        actions.decide(request.pk, Answer(Verdict.APPROVE), by=decider, via=Door.DASHBOARD)
    program = ask(asker, {"amount": 8})
    Machine(decider).decide({"id": program.pk}, "reject")
    twice = {"stages": [{"groups": [{"votes": 3}]}]}
    rules = {"rules": [ALLOW, {"name": "Rest", "then": "ask", "ask": twice}]}
    text = words(post(client, rules, "preview"))
    assert text.count("in all.") == 1
    assert re.search(r"People would have needed \d+ s more in all\.", text)
    assert "Would have been allowed as it was asked, but a program rejected or changed it with an API key: 1" in text
    assert "a person rejected it" not in text
    for figure, request in (("saved", small), ("added", large), ("1:ask", large)):
        page = post(client, rules, f"cases:{figure}")
        listed = page.content.decode().partition('id="cases"')[2].partition("</section>")[0]
        assert re.findall(r"/requests/([0-9a-f-]{36})/", listed) == [str(request.pk)], figure
    assert "The 2 requests that this number counts" in words(post(client, rules, "cases:0:allow"))
    for nothing in ("cases:", "cases:9:allow", "cases:nothing"):
        assert post(client, rules, nothing).status_code == 200


def test_the_replay_warns_only_of_what_the_change_does(client):
    decider, asker = bob(), alice()
    actions.decide(ask(asker, {"amount": 7}).pk, Answer(Verdict.REJECT), by=decider, via=Door.DASHBOARD)
    worry = "Would have been allowed, but a person rejected it: 1"
    assert worry in words(post(client, ALLOWED, "preview"))
    apply_policy(ALLOW)
    page = post(client, {"rules": [ALLOW, {"name": "b", "then": "ask"}]}, "preview", based_on="1")
    assert (worry in words(page), "No new conflicts" in words(page)) == (False, True)


def test_a_change_that_someone_overtook_is_refused_in_words(client):
    page = post(client, {"rules": [ALLOW]}, "preview")
    previewed = re.search(r'name="previewed" value="([^"]+)"', page.content.decode())[1]
    apply_policy(ALLOW, four_eyes=True, by=administrator("eve"))
    refused = post(client, {"rules": [ALLOW]}, "apply", previewed=previewed, reason="Because.")
    assert refused.status_code == 422
    assert "Version 1, applied by eve, is live." in words(refused)


@pytest.mark.parametrize(
    ("document", "fault"),
    [
        ('{"rules": [}', "not valid JSON"),
        ("[]", ""),
        ('{\n"rules": [\n{"name": "a", "then": "ask",\n"when": "tol == 1"}]}', "Line 4: rules.0.when line 1, column 1"),
        ('{"rules": [{"name": "<b>", "then": "<script>"}]}', "Line 1: rules.0.then"),
        ('{"rules": [7]}', "Line 1: rules.0"),
        ("\x00", "not valid JSON"),
    ],
)
@pytest.mark.parametrize("step", ["preview", "apply", "store:0", "edit:0", "up:0", "four_eyes", ""])
def test_faults_are_shown_with_their_lines(client, document, fault, step):
    page = post(client, document, step, **RULE)
    # The other buttons change the document, and so may mend it.
    if step in {"preview", "apply", "edit:0", ""}:
        shown = fault.partition(": ")[2] if step == "edit:0" and "rules.0." in fault else fault
        assert (page.status_code, shown in words(page)) == (422, True)
    assert '<script>"' not in page.content.decode()
    assert live_version() is None


def test_a_version_shows_what_it_changes_and_begins_a_change(client):
    apply_policy(ALLOW)
    apply_policy(ALLOW | {"then": "deny"}, reason="Too much <fraud>.")
    text = words(client.get("/settings/policy/2/"))
    assert '- "then": "allow" + "then": "deny"' in text
    assert "Too much <fraud>." in text
    assert draft_in(client.get(f"{CHANGE}?version=1")) == {"rules": [ALLOW]}
    assert draft_in(client.get(CHANGE))["rules"][0]["then"] == "deny"
    assert client.get("/settings/policy/9/").status_code == 404


def test_a_proposal_is_confirmed_by_another_administrator(client):
    other = signed_in(administrator("eve"))
    document = {"rules": [ALLOW]}
    page = post(client, document, "preview")
    previewed = re.search(r'name="previewed" value="([^"]+)"', page.content.decode())[1]
    assert "Propose this policy" in words(page)
    assert post(client, document, "apply", previewed=previewed, reason="Because.").status_code == 302
    assert "root has proposed version 1." in words(client.get("/settings/policy/"))
    assert 'value="confirm"' not in client.get("/settings/policy/1/").content.decode()
    shown = re.search(r'name="shown" value="([^"]+)"', other.get("/settings/policy/1/").content.decode())[1]
    address = f"/settings/changes/{waiting_change().pk}/"
    assert client.post(address, {"do": "confirm", "shown": shown}).status_code == 403
    assert other.post(address, {"do": "confirm", "shown": shown}).status_code == 302
    assert PolicyVersion.objects.get().state == "live"
    assert other.post(address, {"do": "withdraw"}).status_code == 404


def test_there_are_no_such_pages_for_anyone_else():
    apply_policy(ALLOW)
    for person in (mallory(), bob()):
        client = signed_in(person)
        for address in ("/settings/policy/", CHANGE, "/settings/policy/1/"):
            assert client.get(address).status_code == 404
        assert post(client, {"rules": []}, "apply").status_code == 404


DEEP = '{"a":' * 400 + "1" + "}" * 400
STRANGE = ['[{"name": "x", "then": "ask", "match": [1]}]', '[{"name": "x", "then": "ask", "ask": {"stages": 3}}]',
           '[{"name": "\\ud800", "then": "ask"}]', f"[{DEEP}]"]  # fmt: skip


@pytest.mark.parametrize("rules", STRANGE, ids=range(len(STRANGE)))
@pytest.mark.parametrize("step", ["preview", "edit:0", "store:0", "store:", "up:0", "four_eyes"])
def test_a_document_of_any_shape_is_refused_in_words(client, rules, step):
    page = post(client, f'{{"rules": {rules}}}', step, **RULE)
    assert (page.status_code, live_version()) == (422, None)
