"""In a pseudo-language, no page, error or script shows a text of ours that is not translated."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from http.client import HTTPConnection
from typing import Any
from zoneinfo import available_timezones

import pytest

from approvals.access.token_claims import ALGORITHMS
from approvals.administration.connecting.integrations import INTEGRATIONS
from approvals.outbound import outbox
from approvals.record.events import EVENTS
from chats.states import FinishReason
from tests.proofs.browser.places import LIVE, each_page, places_of
from tests.support import catalogues
from tests.support.machine import Remote
from tests.support.processes.server import Person, Server
from tests.support.services import missing

pytestmark = pytest.mark.browser

#: Every text of a page in its order, and the attributes that people read or hear; without code, times and templates.
READ = """() => {
    const skipped = "code, kbd, pre, noscript, script, style, template, time, textarea, #result_list tbody";
    const shown = (node) => !node.parentElement.closest(skipped);
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) if (shown(walker.currentNode)) texts.push(walker.currentNode.data);
    const names = ["title", "alt", "placeholder", "aria-label", "aria-description", "aria-valuetext", "hx-confirm", "label"];
    const read = [document.title];
    for (const element of document.body.querySelectorAll("*")) {
        if (element.matches("time, #result_list tbody *")) continue;
        read.push(...names.map((name) => element.getAttribute(name)).filter(Boolean));
        if (element.matches("input[type=submit], input[type=button]")) read.push(element.value);
    }
    return [texts.join("\\u0000"), ...read];
}"""
#: Names, which are the same in every language.
NAMES = (
    "Pausepoint", "English", "OpenAPI 3.1", "OpenAPI", "JSONL", "JSON", "CSV", "OCSF", "API", "MCP", "UTC", "p95", "SHA-256",
    "Django", "Python", "SQLite", "Redis", "SCIM", "GB", "Chrome", "Linux", "macOS",
    "python-urllib", "DEBUG", "Cedar-OS", "ask-human", "true", "false", "typed_name",
    "Microsoft Teams", "Temporal", "Restate", "Trigger.dev", "Prefect", "DBOS",
)  # fmt: skip
#: Words of protocols and numbers of controls, which stand on pages as they are, and times as the browser writes them, with
#: their day.
WORDS = re.compile(
    rf"\b(?:{'|'.join(FinishReason.values)})\b|[A-Z][a-z]{{2}} \d+(?:, \d{{4}})?, \d+:\d+|[\d.,]+\s[A-Z]{{3}}\b"
    r"|\b[A-Z]+\d\.\d\b"
)
#: Tables and columns with text written by people, agents and programs.
DATA = {
    "auth_user": ("username",),
    "auth_group": ("name",),
    "approvals_apikey": ("name", "claim_value"),
    "approvals_tokenissuer": ("name", "issuer", "audience"),
    "approvals_engineconnection": ("name", "url"),
    "approvals_workflow": ("title", "agent", "source", "key"),
    "approvals_approvalrequest": (
        "title", "message", "tool_name", "field_name", "input", "options", "context", "suggestions", "said_before",
        "response_schema", "tool_call_id", "input_digest",
    ),
    "approvals_decision": ("comment", "answer", "edited_input", "approved_digest", "by_name"),
    "approvals_requestcomment": ("text",),
    "approvals_policyversion": ("document", "reason"),
    "approvals_auditentry": ("event", "actor_name", "body"),
    "chats_chat": ("title", "agent", "public_id"),
    "chats_message": ("parts", "message_id"),
    "chats_toolcall": ("name", "input", "output", "error_text", "tool_call_id"),
    "chats_turn": ("error", "run_id"),
    "chats_step": ("blocks",),
    "chats_turncheckpoint": ("tail",),
}  # fmt: skip


#: Pages for developers, in English; the style guide is not part of the product.
FOR_PROGRAMMERS = {"api", "styleguide"}
ADMIN = (
    "", "approvals/auditentry/", "approvals/auditentry/?from=yesterday", "approvals/approvalrequest/", "approvals/decision/",
    "approvals/outboxevent/", "approvals/apikey/", "approvals/webhookendpoint/add/", "approvals/notificationrule/add/",
    "chats/turn/",
)  # fmt: skip


def sent(caller: Remote, method: str, path: str, body: Any, headers: dict[str, str]) -> dict[str, Any]:
    """The problem document that a program gets."""
    connection = HTTPConnection("127.0.0.1", caller.server.port, timeout=90)
    known = {"Authorization": f"Bearer {caller.key}", "Content-Type": "application/json"}
    with contextlib.closing(connection):
        connection.request(method, path, None if body is None else json.dumps(body), known | headers)
        text = connection.getresponse().read().decode()
    assert text.startswith("{"), (method, path, text)
    return json.loads(text)


@pytest.fixture(scope="module")
def abroad(tmp_path_factory: pytest.TempPathFactory, real_processes: None) -> Iterator[Server]:
    """A server that speaks the pseudo-language."""
    if tools := catalogues.missing_tools():
        missing(f"no {', '.join(tools)}", "apt-get install gettext.")
    folder = tmp_path_factory.mktemp("pseudo")
    catalogues.pseudo_catalogue(folder)
    with Server(folder, LANGUAGE_CODE=catalogues.PSEUDO, LOCALE_PATHS=str(folder)) as running:
        yield running


@pytest.fixture(scope="module")
def travellers(abroad: Server) -> Callable[[str], Person]:
    known: dict[str, Person] = {}
    return lambda name: known.get(name) or known.setdefault(name, abroad.person(name))


@pytest.fixture(scope="module")
def sights(abroad: Server, travellers: Callable[[str], Person]) -> dict[str, tuple[str, str]]:
    return places_of(abroad, travellers)


def texts_in(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
            yield from (line.strip() for line in value.splitlines())
        case dict():
            for name, item in value.items():
                yield name
                yield from texts_in(item)
        case list():
            for item in value:
                yield from texts_in(item)


def data_of(server: Server) -> list[str]:
    """Texts in the database, and names, the longest first: a name may contain another text."""
    # With the reasons why a step ended, which would lose a word that is data, too.
    found = {*NAMES, *FinishReason.values}
    for table, columns in DATA.items():
        for row in server.rows(f"SELECT {', '.join(columns)} FROM {table}"):
            for value in row:
                try:
                    found |= set(texts_in(json.loads(value)))
                except (TypeError, ValueError):
                    found |= set(texts_in(value))
    return sorted((text for text in found if re.search(r"[^\W\d_]", text)), key=len, reverse=True)


def unbracketed(text: str, data: Iterable[str] = ()) -> list[str]:
    """The pieces of a text with letters in them that are neither translated nor data nor names."""
    outside, depth = [], 0
    for character in text:
        depth += (character == catalogues.OPEN) - (character == catalogues.CLOSE)
        outside.append("\0" if depth or character == catalogues.CLOSE else character)
    left = "".join(outside)
    for known in (*data, *NAMES):
        # Looked for first, because hundreds of patterns are more than Python keeps compiled.
        if known in left:
            left = re.sub(rf"(?<![^\W_]){re.escape(known)}(?![^\W_])", "\0", left)
    pieces = (" ".join(piece.split()) for piece in WORDS.sub("\0", left).split("\0"))
    return [piece for piece in pieces if re.search(r"[^\W\d_]{2,}", piece) and not _is_cut(piece, data)]


def _is_cut(piece: str, data: Iterable[str]) -> bool:
    """Whether a piece is the long beginning of something in the database, which a list shows no more of."""
    begin = piece.strip("“”… ")
    return len(begin) >= 20 and any(text.startswith(begin) for text in data)


def bare(page: Any, data: list[str]) -> list[str]:
    return sorted({piece for text in page.evaluate(READ) for piece in unbracketed(text, data)})


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("⟦Ápprové⟧ Refund?", []),
        ("⟦Wáít for ⟦bób⟧ and carol⟧", []),
        ("⟦Ápprové⟧ this", ["this"]),
        ("Refunded", ["Refunded"]),
        ("12 · API", []),
        ("Nov 25, 00:04", []),
        ("Nov 25, 2026, 12:04", []),
    ],
)
def test_the_reader_of_pages_finds_what_is_not_translated(text, left):
    assert unbracketed(text, ["Refund?"]) == left


def test_every_page_is_translated(windows, travellers, abroad, sights):
    # Time zones, languages, frameworks, algorithms and events have the same names in every language.
    zones = sorted(available_timezones(), key=len, reverse=True)
    frameworks = sorted((each.title for each in INTEGRATIONS if isinstance(each.title, str)), key=len, reverse=True)
    of_tokens = [*ALGORITHMS, "/.well-known/openid-configuration:"]
    data = [*zones, *frameworks, *of_tokens, *outbox.EVENTS, catalogues.PSEUDO, *data_of(abroad)]
    shown = {name: place for name, place in sights.items() if name not in FOR_PROGRAMMERS}
    found = {name: bare(page, data) for name, page in each_page(windows, travellers, abroad, shown)}
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_what_scripts_show_is_translated(windows, travellers, abroad, sights):
    windows.tolerate("422", "409")
    page = windows.open(travellers("approver"), "/requests/", reduced_motion="reduce")
    found, data = {}, data_of(abroad)
    page.keyboard.press("?")
    page.locator("dialog[open]").wait_for()
    found["keys"] = bare(page, data)
    page.keyboard.press("Escape")
    page.goto(abroad.address + sights["critical"][1])
    page.locator("form button[value=approve], form button[value=respond]").first.click()
    page.locator(".refusal").wait_for()
    found["refused form"] = bare(page, data)
    page.goto(abroad.address + sights["form"][1])
    page.locator("form.fields").first.evaluate("one => { one.noValidate = true; }")
    page.locator("form.fields button[value=respond]").click()
    page.locator(".refusal").wait_for()
    found["refused answer"] = bare(page, data)
    # A new request announces itself on a page that is open.
    page.goto(f"{abroad.address}/requests/")
    page.wait_for_selector(LIVE)
    travellers("requester").pause("Please refund order 990, 500 euros")
    page.locator("#arrivals-show").wait_for()
    found["new request"] = bare(page, data_of(abroad))
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_many_decided_at_once_are_told_of_in_translation(windows, travellers, abroad):
    for order in ("991", "992"):
        travellers("requester").pause(f"Please refund order {order}, 500 euros")
    page = windows.open(travellers("approver"), "/requests/?q=refund&kind=approval", reduced_motion="reduce")
    for box in page.locator("[name=pick]").all()[:2]:
        box.check()
    page.locator("button[name=verdict][value=reject]").click()
    page.wait_for_url("**/requests/bulk/")
    data = data_of(abroad)
    found = [bare(page, data)]
    with page.expect_navigation():
        page.locator("button.danger").click()
    found.append(bare(page, data))
    assert found == [[], []]


def test_the_admin_is_translated(windows, travellers, abroad, sights):
    windows.tolerate("does not conform to the required format")
    page = windows.open(travellers("admin"), "/insights/")
    # Events have names of their own. “Search …” is a heading of Django's, which brings its own translations.
    data = [*EVENTS, *outbox.EVENTS, "Search", *data_of(abroad)]
    found = {}
    for path in ADMIN:
        page.goto(f"{abroad.address}/admin/{path}")
        found[path] = bare(page, data)
    assert {path: texts for path, texts in found.items() if texts} == {}


def test_the_text_of_every_kind_of_refusal_is_translated(travellers, abroad, sights):
    wide, narrow = Remote(abroad, "approver"), Remote(abroad, "requester", ("read",))
    rejected = sights["rejected"][1].strip("/").split("/")[-1]
    calls = [
        (wide, "GET", "/api/v1/requests/00000000-0000-0000-0000-000000000000", None, {}),
        (wide, "GET", "/api/v1/requests?nothing=1", None, {}),
        (wide, "PUT", "/api/v1/requests", {}, {}),
        (wide, "POST", "/api/v1/requests", {}, {"Content-Type": "text/plain"}),
        (wide, "POST", "/api/v1/requests", {"kind": "approval"}, {}),
        (wide, "POST", "/api/v1/requests", {"kind": "form", "title": "?"}, {}),
        (wide, "POST", f"/api/v1/requests/{rejected}/decision", {"verdict": "approve"}, {}),
        (wide, "POST", f"/api/v1/requests/{rejected}/claim", {}, {}),
        (wide, "POST", f"/api/v1/requests/{rejected}/result", {}, {}),
        (narrow, "POST", "/api/v1/requests", {"kind": "question", "title": "?"}, {}),
        (narrow, "GET", "/api/v1/audit", None, {}),
        (narrow, "GET", "/api/v1/requests", None, {"Authorization": "Bearer wrong"}),
        (wide, "POST", "/api/ask-human", {"question": ""}, {}),
        (wide, "GET", "/api/events?thread=x&last-event-id=x", None, {"Last-Event-ID": "x"}),
        (wide, "POST", "/api/chat", {"id": "a", "messages": "none"}, {}),
        (wide, "GET", "/api/chat/nothing", None, {}),
        (wide, "POST", "/api/v1/client-tokens", {"chat": "", "seconds": 1}, {}),
        (wide, "POST", "/chat/resume", {"runId": "none"}, {}),
        (wide, "POST", "/chat/resume", {}, {}),
        (wide, "GET", "/api/nothing", None, {}),
    ]
    found = {}
    for caller, method, path, body, headers in calls:
        reply = sent(caller, method, path, body, headers)
        assert reply["status"] >= 400, (method, path, reply)
        left = unbracketed(reply["title"]) + unbracketed(reply["detail"])
        found[f"{method} {path}"] = left
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_refusals_of_forms_are_pages_in_translation(windows, travellers, abroad, sights):
    alice = travellers("requester")
    data = data_of(abroad)
    waiting = sights["waiting"][1]
    answers = {
        "forbidden": alice.post(f"{waiting}decide/", verdict="approve", digest="x"),
        "absent": alice.get("/requests/00000000-0000-0000-0000-000000000000/"),
        "too late": travellers("approver").decide(sights["rejected"][1].strip("/").split("/")[-1], verdict="approve"),
        "filters": alice.get("/requests/?status=nothing"),
        "csrf": alice.send("POST", f"{waiting}decide/", "", {"Content-Type": "application/x-www-form-urlencoded"}),
    }
    found = {}
    for name, answer in answers.items():
        page = windows.stranger(abroad)
        page.set_content(answer.text)
        found[name] = (answer.status, bare(page, data))
    assert found == {
        "forbidden": (403, []), "absent": (404, []), "too late": (409, []), "filters": (422, []), "csrf": (403, [])
    }  # fmt: skip
