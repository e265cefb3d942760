"""Messages of both eras: capabilities, and the errors of a client."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from approvals.access import callers
from approvals.access.standing import standing_of
from approvals.administration.keys.actions import create_key
from approvals.api.mcp import calls
from approvals.db.canonical_json import MAX_BYTES
from approvals.models import ApprovalRequest
from tests.approvals.api.mcp.agent import ACCEPT, ADDRESS, MODERN, PREFIX, QUESTION, Agent, Response
from tests.support.machines import Machine, machine
from tests.support.people import alice

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = ["ask_human", "request_approval", "check_request", "report_result", "permission"]


def post(sender: Machine, body: object, **headers: str) -> Response:
    sent = {**ACCEPT, **{name.replace("_", "-"): value for name, value in headers.items()}}
    return Response(sender.post(ADDRESS, body, headers=sent))


def test_the_older_era_begins_with_initialize():
    agent = Agent(alice(), modern=False)
    found = {
        wanted: agent.send("initialize", {"protocolVersion": wanted, "capabilities": {}}).result
        for wanted in ("2025-03-26", "2025-11-25", "2030-01-01")
    }
    versions = {wanted: result["protocolVersion"] for wanted, result in found.items()}
    assert versions == {"2025-03-26": "2025-03-26", "2025-11-25": "2025-11-25", "2030-01-01": "2025-11-25"}
    assert found["2025-11-25"]["capabilities"] == {"tools": {}}
    assert found["2025-11-25"]["serverInfo"]["name"] == "pausepoint"
    assert agent.send("ping").result == {}


def test_the_newer_era_needs_no_handshake():
    found = Agent(alice()).send("server/discover").result
    assert (found["resultType"], found["supportedVersions"][0], found["capabilities"]) == (
        "complete",
        MODERN,
        {"tools": {}},
    )
    assert found["_meta"] == {f"{PREFIX}serverInfo": {"name": "pausepoint", "title": "Pausepoint", "version": "1"}}


def test_both_eras_list_the_same_tools():
    user = alice()
    older, newer = (Agent(user, modern=modern).send("tools/list").result for modern in (False, True))
    assert set(older) == {"tools"}
    assert (newer["ttlMs"], newer["cacheScope"]) == (3_600_000, "public")
    assert [tool["name"] for tool in newer["tools"]] == NAMES
    assert older["tools"] == newer["tools"]
    hints = {tool["name"]: tool["annotations"]["readOnlyHint"] for tool in newer["tools"]}
    assert hints == dict.fromkeys(NAMES, False) | {"check_request": True}
    assert [tool["name"] for tool in newer["tools"] if "outputSchema" not in tool] == ["permission"]


def test_a_body_of_the_largest_size_is_taken(monkeypatch):
    monkeypatch.setattr(calls, "WAIT", 0.0)
    agent, options = Agent(alice(), modern=False), [{"label": str(number)} for number in range(50)]
    message, headers = agent.message(
        "tools/call", {"name": "ask_human", "arguments": QUESTION | {"options": options, "context": "x"}}
    )
    short = json.dumps(message, separators=(",", ":"))
    raw = short.replace('"x"', f'"{"x" * (MAX_BYTES - len(short) + 1)}"').encode()
    response = Response(agent.machine.call("POST", ADDRESS, raw=raw, headers=headers))
    assert (len(raw), response.outcome["status"]) == (MAX_BYTES, "pending")


def test_notifications_and_responses_are_accepted_and_change_nothing():
    sent = machine(alice())
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    for body in (cancelled, {"jsonrpc": "2.0", "id": 3, "result": {}}):
        for version in ("2025-11-25", MODERN):
            answer = sent.post(ADDRESS, body, headers={**ACCEPT, "mcp-protocol-version": version})
            assert (answer.status, answer.text) == (202, "")


ENVELOPE = {f"{PREFIX}protocolVersion": MODERN, f"{PREFIX}clientCapabilities": {}}
LIST = {"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {"_meta": ENVELOPE}}
CALL = {**LIST, "method": "tools/call", "params": {"name": "ask_human", "arguments": QUESTION, "_meta": ENVELOPE}}
NEW = {"mcp_protocol_version": MODERN, "mcp_method": "tools/list"}
OLD = {"jsonrpc": "2.0", "id": 5, "method": "tools/list"}
#: Message and headers; the HTTP status, the code and the id of the answer.
ERRORS = {
    "a batch": ([OLD], {}, (400, -32600, None)),
    "no version of JSON-RPC": ({"id": 5, "method": "ping"}, {}, (400, -32600, 5)),
    "no method": ({"jsonrpc": "2.0", "id": 5}, {}, (400, -32600, 5)),
    "params that are a list": ({**OLD, "params": [1]}, {}, (400, -32600, 5)),
    "an id that is null": ({**OLD, "id": None}, {}, (400, -32600, None)),
    "an id that is a boolean": ({**OLD, "id": True}, {}, (400, -32600, None)),
    "an id without end": ({**OLD, "id": "x" * 201}, {}, (400, -32600, None)),
    "an unknown method of the older era": ({**OLD, "method": "prompts/list"}, {}, (200, -32601, 5)),
    "an unknown tool of the older era": (
        {**OLD, "method": "tools/call", "params": {"name": "x"}},
        {},
        (200, -32602, 5),
    ),
    "no envelope": ({**OLD}, NEW, (400, -32602, 5)),
    "an envelope without headers": (LIST, {}, (400, -32020, 5)),
    "another method in the header": (LIST, NEW | {"mcp_method": "ping"}, (400, -32020, 5)),
    "no name in the headers": (CALL, NEW | {"mcp_method": "tools/call"}, (400, -32020, 5)),
    "an unknown version": (LIST, NEW | {"mcp_protocol_version": "2030-01-01"}, (400, -32020, 5)),
    "an unknown version in both": (
        {**LIST, "params": {"_meta": {**ENVELOPE, f"{PREFIX}protocolVersion": "2030-01-01"}}},
        NEW | {"mcp_protocol_version": "2030-01-01"},
        (400, -32022, 5),
    ),
    "an unknown method of the newer era": (
        {**LIST, "method": "prompts/list"},
        NEW | {"mcp_method": "prompts/list"},
        (404, -32601, 5),
    ),
    "an unknown tool": (
        {**CALL, "params": {**CALL["params"], "name": "x"}},
        NEW | {"mcp_method": "tools/call", "mcp_name": "x"},
        (400, -32602, 5),
    ),
    "only one accepted type": (LIST, NEW | {"accept": "application/json"}, (406, -32600, 5)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_message_that_breaks_the_protocol_gets_its_error(name):
    body, headers, expected = ERRORS[name]
    assert post(machine(alice()), body, **headers).error == expected
    assert not ApprovalRequest.objects.exists()


def test_an_error_about_the_version_names_the_supported_ones():
    body, headers, _ = ERRORS["an unknown version in both"]
    (message,) = post(machine(alice()), body, **headers).messages
    assert message["error"]["data"] == {"supported": [MODERN], "requested": "2030-01-01"}


def test_the_name_in_a_header_may_be_encoded():
    sent = machine(alice())
    encoded = NEW | {"mcp_method": "tools/call", "mcp_name": "=?base64?Y2hlY2tfcmVxdWVzdA==?="}
    params = {**CALL["params"], "name": "check_request", "arguments": {}}
    assert post(sent, {**CALL, "params": params}, **encoded).refusal.startswith("The arguments are invalid.")
    assert post(sent, {**CALL, "params": params}, **encoded | {"mcp_name": "=?base64?%%?="}).error[:2] == (400, -32020)


def test_who_has_no_valid_key_is_told_so_by_http():
    wrong = Machine("pp_00000000_wrong").post(ADDRESS, LIST, headers=ACCEPT)
    without = Machine().post(ADDRESS, LIST, headers=ACCEPT)
    assert [(answer.status, answer.headers["www-authenticate"]) for answer in (without, wrong)] == [
        (401, "Bearer"),
        (401, "Bearer"),
    ]


def test_sessions_and_client_tokens_are_refused():
    user = alice()
    browser = Client()
    browser.force_login(user)
    assert browser.post(ADDRESS, LIST, content_type="application/json").status_code == 403
    caller = callers.Caller(
        user=user, standing=standing_of(user), scopes=callers.ALL, key=create_key(user, name="app")[0]
    )
    answer = Machine(callers.client_token(caller, thread="t-1")).post(ADDRESS, LIST, headers=ACCEPT)
    assert (answer.status, answer.code) == (403, "not_allowed")


def test_only_post_is_taken():
    sent = machine(alice())
    for method in ("GET", "DELETE", "PUT"):
        answer = sent.call(method, ADDRESS)
        assert (answer.status, answer.code, answer.headers["allow"]) == (405, "method_not_allowed", "POST")


def test_pages_of_other_sites_are_refused(settings):
    settings.PUBLIC_URL, settings.CORS_ALLOWED_ORIGINS = "https://desk.example.org/desk", ["https://app.example.org"]
    sent = machine(alice())
    origins = (
        "https://desk.example.org",
        "https://app.example.org",
        "http://localhost",
        "https://evil.example",
        "null",
    )
    found = [sent.post(ADDRESS, OLD, headers={**ACCEPT, "origin": origin}).status for origin in origins]
    assert found == [200, 200, 200, 403, 403]
    assert sent.post(ADDRESS, OLD, headers={**ACCEPT, "host": "evil.example"}).status == 400


def test_a_page_of_an_allowed_origin_may_send_the_headers_of_the_protocol(settings):
    settings.CORS_ALLOWED_ORIGINS = ["https://app.example.org"]
    asked = {
        "origin": "https://app.example.org",
        "access-control-request-method": "POST",
        "access-control-request-headers": "mcp-method, mcp-name, mcp-protocol-version",
    }
    answer = Machine().call("OPTIONS", ADDRESS, headers=asked)
    allowed = set(answer.headers["access-control-allow-headers"].split(", "))
    assert (answer.status, {"mcp-method", "mcp-name", "mcp-protocol-version"} - allowed) == (200, set())


def test_a_body_that_is_no_json_gets_an_error_of_the_protocol():
    sent = machine(alice())
    bodies = {b"{": 400, b"": 400, b"x" * 1_000_001: 413}
    found = {body: Response(sent.post(ADDRESS, None, raw=body, headers=ACCEPT)).error for body in bodies}
    assert found == {body: (status, -32700, None) for body, status in bodies.items()}
    form = Response(sent.post(ADDRESS, OLD, headers={**ACCEPT, "content-type": "text/plain"}))
    assert form.error == (415, -32700, None)


def test_a_message_that_is_no_call_and_cannot_be_stored_gets_an_error_with_its_id():
    sent = machine(alice())
    found = Response(sent.post(ADDRESS, None, raw=b'{"a": "\\u0000"}', headers=ACCEPT)).error
    ping = b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"n": 9007199254740993}}'
    assert (found, Response(sent.post(ADDRESS, None, raw=ping, headers=ACCEPT)).error) == (
        (400, -32600, None),
        (200, -32602, 7),
    )


def test_responses_have_the_headers_that_all_have():
    headers = Agent(alice()).send("tools/list").answer.headers
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert (headers["cache-control"], headers["x-content-type-options"]) == ("private, no-store", "nosniff")
