"""The form of a rule shows each member that the document can hold, and an unchanged form changes nothing."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from approvals.administration.rules.forms import PolicyRuleForm, data_of
from approvals.administration.rules.starters import starters
from approvals.policy.asks import PLAIN
from approvals.policy.policies import InvalidPolicy, policy_of, stored_form
from approvals.text.text import INVISIBLE
from tests.approvals.policy.writing import DIRECTORY
from tests.support.desk.browser_form import sent_by_browser
from tests.support.desk.votes import make_team

pytestmark = pytest.mark.django_db

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12) | (
    st.sampled_from(
        ["50", "1,5", "1.500", "true", '"', '"a"', "[", "{}", " a ", "a\nb", "\r", "a.b", "input", "null", "\n"]
    )
)
NAMES = TEXTS.filter(lambda text: not INVISIBLE.search(text) and text.strip() == text)
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
AMOUNTS = NUMBERS.map(abs)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS | st.just(""),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=3,
)
ADDRESSES = st.sampled_from(["bob@example.com", "Eve@Example.org"])
POINTERS = st.sampled_from(
    ["", "/", "/amount", "/input", "/a.b", "/a~1b/c", "/ a ", "//", '/"x"', "/~1a", "/to/0", "/x\ny"]
)
SECONDS = st.sampled_from([60, 61, 90, 3600, 5400, 86_400, 90_000])


def optional(**members):
    return st.fixed_dictionaries({}, optional=members)


def lists(items, most=3):
    return st.lists(items, min_size=1, max_size=most)


def some(values, most=3):
    return st.lists(st.sampled_from(values), min_size=1, max_size=most, unique=True)


def comparing(wanted, *, ranges=None, written=None):
    """Strategies of the tests that compare with such a value."""
    ways = [st.fixed_dictionaries({"equals": wanted}), st.fixed_dictionaries({"one_of": lists(wanted)})]
    if ranges is not None:
        ends = st.lists(ranges, min_size=2, max_size=2).map(sorted)
        names = st.sampled_from(["at_least", "at_most", "more_than", "less_than"])
        ways += [st.builds(lambda name, end: {name: end}, names, ranges),
                 ends.map(lambda pair: {"at_least": pair[0], "at_most": pair[1]})]  # fmt: skip
    if written is not None:
        ways += [st.fixed_dictionaries({"starts_with": written}), st.fixed_dictionaries({"like": written})]
    return st.one_of(ways)


def typed(kind, tests):
    return (tests | st.just({})).map(lambda test: {"type": kind} | test)


CONDITIONS = st.tuples(
    POINTERS,
    st.one_of(
        comparing(VALUES, ranges=NUMBERS, written=TEXTS),
        typed("amount", comparing(AMOUNTS, ranges=AMOUNTS)),
        typed("address", comparing(ADDRESSES)),
        typed("addresses", comparing(ADDRESSES) | st.just({"like": "*@example.com"})),
        typed("text", comparing(TEXTS | st.just(""), written=TEXTS)),
        typed("line", comparing(NAMES, written=TEXTS)),
        typed("path", st.just({"starts_with": "/srv/"}) | comparing(st.just("/srv/a b"))),
        typed("host", comparing(st.just("example.com"))),
        st.fixed_dictionaries({"members": lists(TEXTS | st.just(""))}),
    ),
).map(lambda parts: {"pointer": parts[0]} | parts[1])
MATCHES = optional(
    tools=lists(NAMES), agents=lists(NAMES), servers=lists(NAMES), sources=lists(st.sampled_from(["api", "x\ty", "mcp"])),
    kinds=some(["approval", "recovery"]), priorities=some(["low", "critical"]), requesters=some(["bob", "alice"]),
    input=lists(CONDITIONS),
)  # fmt: skip
PEOPLE = {"people": some(["bob", "alice"]), "teams": some(["security", "finance"]), "roles": st.just(["approver"])}
STAGES = st.fixed_dictionaries(
    {"groups": lists(optional(**PEOPLE, votes=st.integers(1, 3)))}, optional={"any": st.booleans()}
)
ESCALATION = st.lists(st.tuples(SECONDS, optional(**PEOPLE)), min_size=1, max_size=3).map(
    lambda steps: [{"after": after, **named} for after, named in sorted(steps, key=lambda step: step[0])]
)
FLAG = st.booleans()
ASKS = optional(
    stages=lists(STAGES), veto=FLAG, with_requester=FLAG, typed_name=FLAG, fresh_sign_in=FLAG, working_hours=FLAG,
    reason=st.sampled_from(["always", "rejection"]), priority=st.sampled_from(["low", "critical"]),
    deadline=st.fixed_dictionaries({"then": st.sampled_from(["halt", "reject", "default"]), "after": SECONDS}),
    reminders=lists(SECONDS).map(sorted), escalation=ESCALATION, channels=some(["push", "mail", "slack"]),
    key_fields=st.lists(POINTERS, min_size=1, max_size=3, unique=True),
)  # fmt: skip
RULES = st.fixed_dictionaries(
    {"then": st.sampled_from(["ask", "allow", "deny"]), "name": NAMES},
    optional={
        "match": MATCHES, "ask": ASKS, "message": TEXTS,
        "when": st.sampled_from(["input.amount < 500", ' "a" ==\n tool ', 'agent == "\\"x\\"" && hour >= 7']),
    },
).flatmap(lambda rule: st.permutations(list(rule.items())).map(dict))  # fmt: skip


def html_of(form: PolicyRuleForm) -> str:
    return form.as_div() + "".join(row.as_div() for rows in form.rows.values() for row in rows)


def ordered(value, name=""):
    """The value with its sets in one order, and without what says nothing."""
    if isinstance(value, dict):
        if len(value.get("groups", ())) == 1:
            value = {name: member for name, member in value.items() if name != "any"}
        return {name: ordered(member, name) for name, member in value.items()}
    if isinstance(value, list) and name in {"kinds", "priorities", "sources", "channels", "teams", "requesters"}:
        return sorted(set(value))
    if name == "message":
        return value.replace("\r", "\n")
    return [ordered(item) for item in value] if isinstance(value, list) else value


def meaning(rule):
    read = policy_of(stored_form({"rules": [ordered(rule)]}, DIRECTORY)).rules[0]
    return replace(read, ask=PLAIN) if read.ask is None and read.then == "ask" else read


@settings(max_examples=30)
@given(RULES)
def test_an_unchanged_form_keeps_the_rule_and_shows_all_of_it(rule):
    try:
        wanted = meaning(rule)
    except InvalidPolicy:
        assume(False)
    form = PolicyRuleForm(sent_by_browser(html_of(PolicyRuleForm(data_of(rule), checked=False))))
    assert form.is_valid(), (form.errors, form.first_error)
    assert json.dumps(form.rule(rule)) == json.dumps(rule)
    assert meaning(form.rule(None)) == wanted, "the form alone says the same"


def test_each_template_fills_the_form():
    for rule in starters():
        form = PolicyRuleForm(sent_by_browser(html_of(PolicyRuleForm(data_of(rule), checked=False))))
        assert form.is_valid(), rule["name"]
        stored_form({"rules": [form.rule(None)]}, replace(DIRECTORY, roles={"approver": 9, "administrator": 10}))


def test_templates_name_teams_as_they_are_spelled_here():
    make_team("Finance")
    groups = starters()[1]["ask"]["stages"][0]["groups"]
    assert groups == [{"teams": ["Finance"]}, {"teams": ["security"]}]
