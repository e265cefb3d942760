"""Every kind of page with all its elements, a way to visit them all, and axe-core's findings on one (WCAG 2.2, AA)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.proofs.browser.policy.places import policy_places_of
from tests.proofs.browser.test_forms import LAST_HOUR, TRIP
from tests.support.machine import Remote
from tests.support.processes.server import until
from tests.support.services import install_packages

PACKAGE = Path(__file__).parent / "axe"
#: The page has everything that it missed while it loaded: nothing late arrives.
LIVE = '#live[data-state="on"]'
#: Half of the combinations: another test compares the colours of the other half.
SIGHTS = (({"width": 360, "height": 740}, "light"), ({"width": 1280, "height": 900}, "dark"))
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
#: Rules beyond WCAG: a screen reader's user goes by headings and landmarks.
MORE = ["heading-order", "landmark-unique", "landmark-no-duplicate-main", "region", "empty-heading"]
#: Each violation as "rule: where it is first, and why". Nothing sticks to an edge of the window meanwhile: for axe,
#: what such a bar covers until somebody scrolls is too small.
LOOK = f"""async () => {{
    const bars = [...document.querySelectorAll("*")].filter((one) => getComputedStyle(one).position === "sticky");
    for (const bar of bars) bar.style.position = "static";
    const told = (one) => `${{one.html.slice(0, 200)}} ${{one.failureSummary}}`;
    const more = Object.fromEntries({MORE!r}.map((name) => [name, {{ enabled: true }}]));
    const {{ violations }} = await axe.run({{ runOnly: {RULES!r}, rules: more, resultTypes: ["violations"] }});
    for (const bar of bars) bar.style.position = "";
    return violations.map(({{ id, nodes }}) => `${{id}} (${{nodes.length}}): ${{told(nodes[0])}}`);
}}"""

LONG = "x" * 300
WIPE = {"title": "Drop the table?", "tool_name": "dropTable", "input": {"table": "orders"}, "priority": "critical"}
#: A password and a key within a text, among the values that stand in the bar.
HIDDEN = {"user": "jane", "password": "12345678", "note": f"ghp_{'A1b2' * 9}"}

#: An issuer of tokens with long names, and a mapping.
ISSUER = f"""
from approvals.models import ApiKey, EngineConnection, TokenIssuer

EngineConnection.objects.create(name="e" * 60, kind="temporal", url="https://localhost/" + "e" * 200, route="default/decide")
issuer = TokenIssuer.objects.create(
    name={LONG!r}[:100], issuer="https://localhost/" + "i" * 200, audience="a" * 200, algorithms=["ES256"], problem={LONG!r}
)
agents = User.objects.get(username="requester")
ApiKey.objects.create(
    issuer=issuer, user=agents, claim="sub", claim_value="s" * 200, name={LONG!r}[:100], prefix="t0", scopes=["ask", "read"]
)
"""
#: A chat whose answers say everything that an answer can say beside its words.
REMARKS = """
from django.contrib.auth.models import User
from chats import actions
from chats.agent.demo import support
from tests.support.chats.scenes import ended, text
from tests.support.chats.turns import say

chat = actions.open_chat(owner=User.objects.get(username="requester"), agent=support, public_id="remarks")
page = {"url": "https://example.org/" + "p" * 200, "title": "t" * 200}
ended(
    say(chat, "Tell me about pandas."),
    "refusal",
    {"type": "thinking", "thinking": "Hm.", "signature": "s"},
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "example.org"}},
    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [page]},
    text("They eat.") | {"citations": [page, {"document_title": "Terms"}]},
    category="cyber",
    explanation="It could do harm.",
    model_changed={"before": "a", "now": "b", "answers": 1},
    thoughts_left_out={"why": "changed"},
)
ended(say(chat, "And?"), "max_tokens", text("So far"))
chat.turns.first().steps.update(model="claude-opus-5-5", usage={"input_tokens": 10, "output_tokens": 9, "thinking_tokens": 5})
chat.turns.last().steps.update(model="own", usage={"input_tokens": 1, "cache_read_input_tokens": 9_000_000})
"""

#: A change of a tool that waits for a second administrator, with a long line.
WAITING_CHANGE = """
from django.db import transaction
from approvals.actions.changes import Kind, request_change
from approvals.administration.tools.actions import described
from approvals.states import Door

with transaction.atomic():
    before = described("issuerefund")
    after = before | {"no_grants": not before["no_grants"], "secret_fields": ["/" + "s" * 90]}
    by = User.objects.get(username="approver")
    request_change(Kind.TOOL, after, subject="issuerefund", before=before, by=by, via=Door.DASHBOARD)
"""
#: A key, groups and a refused change of an identity provider.
FROM_A_PROVIDER = f"""
from approvals.administration.keys.actions import create_key
from approvals.models import ScimGroup, ScimPerson, ScimRefusal
from django.contrib.auth.models import User
create_key(User.objects.get(username="admin"), name="{LONG[:100]}", scopes=("scim",))
ScimPerson.objects.create(person=User.objects.get(username="auditor"))
ScimGroup.objects.create(name="{LONG[:250]}")
ScimRefusal.objects.create(key_name="{LONG[:100]}", method="POST", path="/{LONG[:190]}", status=409, detail="{LONG}")
"""


@pytest.fixture(scope="package")
def places(server, people) -> dict[str, tuple[str, str]]:
    return places_of(server, people)


def places_of(server, people) -> dict[str, tuple[str, str]]:
    """Return the person and the address of each page by name; the pages contain very long words."""
    alice, bob = people("requester"), people("approver")
    _, decided = alice.pause("Please refund order 90, 500 euros")
    bob.decide(decided, verdict="reject", comment=f"No. {LONG}")
    _, edited = alice.pause("Please refund order 91, 500 euros")
    bob.decide(edited, **{"verdict": "edit", "input.amount": "1", "input.orderId": "y" * 50})
    asking, first = alice.pause("ask twice")
    alice.decide(first, verdict="respond", choice=1)
    server.wait_for_turn(asking, "suspended")
    mixed, refund = alice.pause(f"Please refund order {'z' * 49}, 500 euros")
    _, question = alice.pause("ask")
    long = alice.start_chat(f"hello {LONG}\n\n{LONG} {LONG}")
    stopped, _ = alice.pause("ask human")
    alice.post(f"/chats/{stopped}/stop/")
    failed = alice.start_chat("fail tool")
    for chat in (long, failed):
        server.wait_for_turn(chat, "completed")
    server.run(REMARKS + WAITING_CHANGE + FROM_A_PROVIDER + ISSUER)
    remarks = server.value("SELECT id FROM chats_chat WHERE public_id = ?", "remarks")
    checkpoint = server.value("SELECT max(id) FROM chats_turncheckpoint WHERE chat_pk = ?", mixed)
    asks = Remote(server, "requester", ("ask",))
    key = server.value("SELECT max(id) FROM approvals_apikey WHERE issuer_id IS NULL")
    engine = server.value("SELECT max(id) FROM approvals_engineconnection")
    issuer = server.value("SELECT max(id) FROM approvals_tokenissuer")
    person = server.value("SELECT id FROM auth_user WHERE username = ?", "approver")
    talk = [{"role": "user", "text": LONG * 3}]
    earlier = asks.ask(kind="form", title="Whom?", response_schema=TRIP)
    answered = {"verdict": "respond", "answer": {"name": "Jane", "seats": 1, "class": "economy"}}
    decides = Remote(server, "approver", ("decide",))
    assert decides.send("POST", f"/requests/{earlier['id']}/decision", answered).status == 200
    trip = asks.ask(kind="form", title=f"Whom? {LONG[:190]}", response_schema=TRIP, messages=talk, timeout=LAST_HOUR)
    critical = asks.ask(**WIPE)
    asks.ask(
        kind="question",
        title="Which size?",
        options=[{"label": "S"}, {"label": "M", "description": "Fits most."}],
        multiple=True,
        tool_name="",
        input={},
    )
    edit = {"file_path": LONG, "old_string": f"one\n{LONG}", "new_string": "one\ntwo"}
    call = asks.ask(title="Edit?", tool_name="Edit", input=edit, context={"directory": "/srv"})
    hidden = asks.ask(title="Make an account?", tool_name="makeAccount", input=HIDDEN)
    expired = asks.ask(title="Too late?", timeout=1000)
    workflow = server.value("SELECT workflow_id FROM approvals_approvalrequest WHERE id = ?", edited.replace("-", ""))
    bob.post(f"/requests/{refund}/comments/", text=f"Has anybody asked the shop? {LONG}")
    bob.post(f"/requests/{refund}/claim/")
    state = "SELECT status FROM approvals_approvalrequest WHERE id = ?"
    until(lambda: server.value(state, expired["id"].replace("-", "")) == "expired", "the request expires")
    return {
        "desk": ("approver", "/"),
        "own desk": ("requester", "/"),
        "requests": ("approver", "/requests/?group=tool"),
        "no requests": ("approver", "/requests/?q=nothing-like-this"),
        "decided": ("auditor", "/requests/?status=any"),
        "workflows": ("auditor", "/workflows/"),
        "workflow": ("auditor", f"/workflows/{workflow}/"),
        "rejected": ("approver", f"/requests/{decided}/"),
        "waiting": ("approver", f"/requests/{refund}/"),
        "watched": ("auditor", f"/requests/{refund}/"),
        "question": ("requester", f"/requests/{question}/"),
        "form": ("approver", f"/requests/{trip['id']}/"),
        "call": ("approver", f"/requests/{call['id']}/"),
        "hidden values": ("admin", f"/requests/{hidden['id']}/"),
        "critical": ("approver", f"/requests/{critical['id']}/"),
        "expired": ("approver", f"/requests/{expired['id']}/"),
        "edited": ("requester", f"/requests/{edited}/"),
        "insights": ("auditor", "/insights/"),
        "cases of a figure": ("auditor", "/insights/cases/?of=hasty"),
        "own cases": ("approver", "/attention/cases/?of=on_pages"),
        "audit": ("auditor", "/audit/?tool=issueRefund"),
        "decision record": ("auditor", f"/requests/{decided}/record/"),
        "chats": ("requester", "/chats/"),
        "remarks": ("requester", f"/chats/{remarks}/"),
        "usage": ("requester", f"/chats/{remarks}/usage/"),
        "agents": ("auditor", "/chats/usage/"),
        "asking": ("requester", f"/chats/{asking}/"),
        "mixed": ("approver", f"/chats/{mixed}/"),
        "long": ("requester", f"/chats/{long}/"),
        "stopped": ("auditor", f"/chats/{stopped}/"),
        "failed": ("requester", f"/chats/{failed}/"),
        "checkpoints": ("auditor", f"/chats/{asking}/checkpoints/"),
        "checkpoint": ("auditor", f"/chats/checkpoints/{checkpoint}/"),
        "branchable": ("requester", f"/chats/checkpoints/{checkpoint}/"),
        "timeline": ("auditor", f"/chats/{mixed}/timeline/"),
        "compare": ("auditor", f"/chats/{asking}/compare/"),
        "api": ("requester", "/api/v1/"),
        "granting": ("approver", f"/requests/{refund}/grant/"),
        "grants": ("approver", "/settings/grants/"),
        "profile": ("requester", "/settings/"),
        "display": ("requester", "/settings/display/"),
        "notifications": ("requester", "/settings/notifications/"),
        "sessions": ("requester", "/settings/sessions/"),
        "sign-in": ("requester", "/settings/sign-in/"),
        "new app": ("requester", "/settings/sign-in/app/"),
        "new passkey": ("requester", "/settings/sign-in/passkey/"),
        "people": ("admin", "/settings/people/"),
        "person": ("admin", f"/settings/people/{person}/"),
        "scopes": ("admin", "/settings/scopes/"),
        "connect": ("admin", "/settings/connect/"),
        "connected": ("admin", f"/settings/connect/{key}/?since=0"),
        "keys": ("admin", "/settings/keys/"),
        "key": ("admin", f"/settings/keys/{key}/"),
        "rotate": ("admin", f"/settings/keys/{key}/rotate/"),
        "own keys": ("requester", "/settings/keys/"),
        "engines": ("admin", "/settings/engines/"),
        "engine": ("admin", f"/settings/engines/{engine}/"),
        "token issuers": ("admin", "/settings/token-issuers/"),
        "token issuer": ("admin", f"/settings/token-issuers/{issuer}/"),
        "webhooks": ("admin", "/settings/webhooks/"),
        "slack": ("admin", "/settings/slack/"),
        "microsoft-teams": ("admin", "/settings/microsoft-teams/"),
        "relays": ("admin", "/settings/relays/"),
        "single sign-on": ("admin", "/settings/single-sign-on/"),
        "new provider": ("admin", "/settings/single-sign-on/add/"),
        "people from a provider": ("admin", "/settings/scim/"),
        "tool": ("admin", "/settings/tools/issueRefund/"),
        "changes": ("admin", "/settings/changes/"),
        "system": ("admin", "/settings/system/"),
        "styleguide": ("approver", "/styleguide/"),
        "absent": ("requester", "/absent/"),
        "log-in": ("", "/login/"),
        "password": ("approver", "/password/"),
        "forgotten": ("", "/password/reset/"),
        "mail": ("", "/password/reset/sent/"),
        "old link": ("", "/password/reset/1/x/"),
        **policy_places_of(server),
    }


#: How much has moved, and details for a failure: each entry with the beginning of its elements, from where and to where.
SHIFTS = """window.shifted = 0; window.shifts = [];
new PerformanceObserver(list => { for (const { value, sources } of list.getEntries()) {
    window.shifted += value;
    window.shifts.push([value, ...sources.map(({ node, previousRect: from, currentRect: to }) =>
        [(node?.outerHTML ?? node?.data ?? "").slice(0, 80), from.x, from.y, to.x, to.y])]);
} }).observe({ type: "layout-shift", buffered: true });"""
#: More than this of the window has moved, which a person notices.
NOTICED = 0.02


def shifts_of(page) -> list[Any]:
    """Return what has moved while a page loaded, if a person notices it."""
    return page.evaluate("window.shifts") if page.evaluate("window.shifted") > NOTICED else []


def each_page(windows, people, server, places, *, moved: dict[str, Any] | None = None) -> Iterator[tuple[str, Any]]:
    """Visit every page, in one window per person, with all details open, except menus, of which one is open at a time.

    With `moved`, note there what has moved on each page while it loaded.
    """
    windows.tolerate(" 404 ")
    opened = {}
    for name, (who, path) in places.items():
        if who not in opened:
            opened[who] = windows.open(people(who), reduced_motion="reduce") if who else windows.stranger(server)
            opened[who].add_init_script(SHIFTS)
        opened[who].goto(server.address + path)
        if opened[who].locator("#live").count():
            opened[who].wait_for_selector(LIVE, state="attached")
        if moved is not None and (shifts := shifts_of(opened[who])):
            moved[name] = shifts
        opened[who].evaluate("document.querySelectorAll('details:not([name])').forEach(one => { one.open = true; })")
        yield name, opened[who]


@pytest.fixture(scope="session")
def axe() -> str:
    """Return the axe script, which the browser runs itself because the pages' policy forbids adding scripts."""
    install_packages(PACKAGE)
    return (PACKAGE / "node_modules" / "axe-core" / "axe.min.js").read_text()


def violations(page, axe: str) -> dict[tuple[int, str], list[str]]:
    """Return axe's findings on this page, by width and theme."""
    page.evaluate(axe)
    found = {}
    for size, scheme in SIGHTS:
        page.set_viewport_size(size)
        # What moves or fades has other colours meanwhile.
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        found[size["width"], scheme] = page.evaluate(LOOK)
    return {where: what for where, what in found.items() if what}
