"""Pages of votes, rules, absences and attention, with all their elements, for the tests that walk every page."""

from __future__ import annotations

from tests.support.machine import Remote

LONG = "x" * 300

#: Finance (approver) and security (Carol) decide together; the names are long, as those of real teams are.
SCENE = f"""
from datetime import timedelta
from django.contrib.auth.models import Group, User
from django.utils import timezone
from approvals.actions import policy
from approvals.actions.policy.absence import Away, set_absence
from approvals.administration.absence.actions import store_team_settings
from approvals.models.people import RoleName
from approvals.states import Door
from hitlsite.demo.people import make_person

admin, approver = (User.objects.get(username=name) for name in ("admin", "approver"))
carol = make_person("carol", RoleName.APPROVER, False)
frieda = make_person("frieda", RoleName.APPROVER, False)
for name, person in (("Finance", approver), ("Security", carol)):
    Group.objects.get_or_create(name=name)[0].user_set.add(person)
both = lambda: {{"groups": [{{"teams": ["Finance"]}}, {{"teams": ["Security"]}}]}}
rules = [
    {{
        "name": "Payments need finance and security",
        "match": {{"tools": ["wireMoney"], "input": [{{"pointer": "/amount", "at_least": 10}}]}},
        "when": 'has(input.iban) && !("interns" in requester.teams)',
        "then": "ask",
        "message": "Compare the invoice.",
        "ask": {{
            "stages": [both()], "veto": True, "deadline": {{"after": 86400, "then": "halt"}},
            "reminders": [3600, 7200], "working_hours": True,
            "escalation": [{{"after": 10800, "people": ["admin"], "teams": ["Finance"], "roles": ["administrator"]}}],
            "channels": ["mail", "push"], "key_fields": ["/amount", "/iban"],
        }},
    }},
    {{
        "name": "Contracts take two stages",
        "match": {{"tools": ["signContract"]}},
        "then": "ask",
        "ask": {{
            "stages": [both(), {{"groups": [{{"people": ["frieda"]}}, {{"roles": ["administrator"]}}], "any": True}}],
            "typed_name": True, "fresh_sign_in": True, "reason": "always",
        }},
    }},
    {{"name": "n" * 100, "match": {{"tools": ["t" * 90 + "*"]}}, "then": "allow"}},
    {{"name": "Nothing else at the bank", "match": {{"servers": ["bank"]}}, "then": "deny", "message": "Ask. {LONG}"}},
]
policy.write_policy({{"rules": rules}}, based_on=None, reason="As agreed. {LONG}", by=admin, via=Door.DASHBOARD)
now = timezone.now()
for person, delegate in ((frieda, approver), (carol, None)):
    away = Away(starts_at=now + timedelta(days=3), until=now + timedelta(days=9), delegate=delegate, reason="{LONG[:100]}")
    set_absence(person, away, by=admin, via=Door.DASHBOARD)
store_team_settings(
    Group.objects.get(name="Finance").pk,
    {{"time_zone": "Europe/Berlin", "working_hours": "Mon-Fri 09:00-17:00", "default_delegate": approver, "duty_url": ""}},
    by=admin, via=Door.DASHBOARD,
)
"""
WIRE = {"title": "Wire money?", "tool_name": "wireMoney", "input": {"amount": 1200, "iban": "DE02120300000000202051"}}
CONTRACT = {"title": "Sign it?", "tool_name": "signContract", "input": {"page": 1}}


def policy_places_of(server) -> dict[str, tuple[str, str]]:
    """Return the person and the address of each page by name, as `places_of` does."""
    server.run(SCENE)
    asks = Remote(server, "requester", ("ask", "read"))
    approver = Remote(server, "approver", ("read", "decide"))
    advises = Remote(server, "auditor", ("read", "advise"))
    voted, proposed = asks.ask(**WIRE)["id"], asks.ask(**WIRE)["id"]
    contract, advised = asks.ask(**CONTRACT)["id"], asks.ask(title="Write it?", tool_name="writeNote")["id"]
    votes = {
        voted: {"verdict": "approve", "comment": f"Checked. {LONG}"},
        proposed: {"verdict": "edit", "edited_input": WIRE["input"] | {"amount": 1100}},
    }
    for request, vote in votes.items():
        assert approver.send("POST", f"/requests/{request}/decision", vote).status == 200
    advice = {"hint": "look_closer", "text": f"The amount is unusual. {LONG}", "raise_priority": "high"}
    assert advises.send("POST", f"/requests/{advised}/advice", advice).status == 201
    for number in range(10):
        asks.ask(title="Remind a customer?", tool_name="remind", agent="mailer", input={"to": f"person {number}"})
    person = server.value("SELECT id FROM auth_user WHERE username = ?", "frieda")
    team = server.value("SELECT id FROM auth_group WHERE name = ?", "Finance")
    return {
        "voted": ("approver", f"/requests/{voted}/"),
        "wanted vote": ("carol", f"/requests/{voted}/"),
        "proposed": ("carol", f"/requests/{proposed}/"),
        "breakable": ("admin", f"/requests/{voted}/"),
        "not yet wanted": ("frieda", f"/requests/{contract}/"),
        "typed and fresh": ("approver", f"/requests/{contract}/"),
        "log-in again": ("approver", f"/login/again/?next=/requests/{contract}/"),
        "progress of votes": ("carol", "/requests/?tool=wireMoney"),
        "advised": ("approver", f"/requests/{advised}/"),
        "flood": ("approver", "/requests/?tool=remind"),
        "policy": ("admin", "/settings/policy/"),
        "policy change": ("admin", "/settings/policy/change/"),
        "behind a suggestion": ("admin", "/settings/policy/suggestions/?tool=wireMoney"),
        "policy version": ("admin", "/settings/policy/1/"),
        "out of office": ("approver", "/settings/absence/"),
        "person's absence": ("admin", f"/settings/people/{person}/absence/"),
        "team": ("admin", f"/settings/teams/{team}/settings/"),
        "how you decide": ("approver", "/settings/attention/"),
        "evidence": ("auditor", "/audit/evidence/"),
    }
