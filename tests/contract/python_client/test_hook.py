"""`pausepoint hook` as an agent runs it: the answer on stdout, and exit code 2 with words for everything that goes wrong."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pausepoint.connect.settings import BLOCKED, blocking

from tests.approvals.hooks.calls import BASH
from tests.support.machine import Remote
from tests.support.processes.ports import free_port
from tests.support.processes.server import until
from tests.support.root import ROOT
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

SOON = 120
TOO_LATE = "No one decided in time, so this call was not run."
WORDS = "Pausepoint could not be asked, so this was not run. "


@pytest.fixture(scope="module")
def asker(server):
    return Remote(server, "requester", ("ask", "read"))


@pytest.fixture(scope="module")
def decider(server):
    return Remote(server, "approver", ("decide", "read"))


def started(address: str, key: str, *arguments: str, agent: str = "claude-code") -> subprocess.Popen[str]:
    settings = {"PAUSEPOINT_URL": address, "PAUSEPOINT_KEY": key, "PYTHONPATH": str(ROOT / "clients" / "python")}
    command = [sys.executable, "-m", "pausepoint.cli", "hook", agent, *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=os.environ | settings, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def ended(hook: subprocess.Popen[str], body: str = "") -> tuple[int, str, str]:
    """Return the exit code, stdout and stderr."""
    out, errors = hook.communicate(body or None, timeout=SOON)
    return hook.returncode, out.strip(), errors.strip()


def report(hook: subprocess.Popen[str], **changes: Any) -> dict[str, Any]:
    """Report a call on stdin, as the agent does; gives the call."""
    call = BASH | {"session_id": str(uuid.uuid4())} | changes
    assert hook.stdin is not None
    hook.stdin.write(json.dumps(call))
    hook.stdin.close()
    hook.stdin = None
    return call


def waiting(decider: Remote, call: dict[str, Any]) -> dict[str, Any]:
    def found() -> list[dict[str, Any]]:
        return decider.send("GET", f"/requests?status=pending&thread={call['session_id']}").body["items"]

    (only,) = until(found, "the call waits", SOON)
    return only


def test_a_call_waits_over_repeated_calls_of_one_request_and_prints_the_decision(asker, decider):
    hook = started(asker.server.address, asker.key, "--patience", "2m")
    asked = waiting(decider, report(hook))
    asker.server.kill()
    asker.server.start()
    assert decider.send("POST", f"/requests/{asked['id']}/decision", {"verdict": "approve"}).status == 200
    code, out, errors = ended(hook)
    assert (code, json.loads(out)["hookSpecificOutput"]["permissionDecision"], errors) == (0, "allow", "")


def test_nobody_decides_in_time_and_nobody_can_approve_the_call_any_more(asker, decider):
    hook = started(asker.server.address, asker.key, "--give-up-after", "5s")
    call = report(hook)
    code, out, _errors = ended(hook)
    said = json.loads(out)["hookSpecificOutput"]
    assert (code, said["permissionDecision"], said["permissionDecisionReason"]) == (0, "deny", TOO_LATE)
    (asked,) = decider.send("GET", f"/requests?status=expired&thread={call['session_id']}").body["items"]
    assert decider.send("POST", f"/requests/{asked['id']}/decision", {"verdict": "approve"}).status == 410


def test_deferring_and_tools_that_are_not_gated_are_answered_at_once(asker):
    hook = started(asker.server.address, asker.key, "--defer")
    report(hook)
    assert json.loads(ended(hook)[1])["hookSpecificOutput"]["permissionDecision"] == "defer"
    hook = started(asker.server.address, asker.key)
    report(hook, tool_name="Read")
    assert ended(hook) == (0, "{}", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_hook_blocks(asker, decider, number):
    hook = started(asker.server.address, asker.key)
    waiting(decider, report(hook))
    hook.send_signal(number)
    assert ended(hook) == (2, "", f"{WORDS}The hook was interrupted.")


def test_a_server_that_dies_while_somebody_thinks_blocks(asker, decider):
    hook = started(asker.server.address, asker.key, "--patience", "1s")
    waiting(decider, report(hook))
    asker.server.kill()
    code, out, errors = ended(hook)
    asker.server.start()
    begin = f"{WORDS}{asker.server.address}/api/v1/hooks/claude-code did not answer:"
    assert (code, out, errors.startswith(begin)) == (2, "", True), errors


class BadServer(BaseHTTPRequestHandler):
    """Answers as the path of the address says: `/STATUS/BODY`; with the status 0 it answers nothing.

    Its answers have the mark of Pausepoint, except that of `/STATUS/BODY/foreign`.
    """

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        _, status, name, whose, *_ = self.path.split("/")
        if status == "0":
            self.server.closing.wait(SOON)  # type: ignore[attr-defined]
            return
        body = BODIES[name].encode()
        self.send_response(int(status))
        self.send_header("content-type", "application/json")
        # One that breaks off promises more than it sends.
        self.send_header("content-length", str(len(body) + (name == "cut")))
        self.send_header("location", "/200/allow")
        if whose != "foreign":
            self.send_header("Pausepoint-Hook", "1")
        self.end_headers()
        self.wfile.write(body)


ALLOW = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}
BODIES = {
    "allow": json.dumps(ALLOW),
    "none": "{}",
    "empty": "",
    "cut": "{}",
    "html": "<html>Welcome</html>",
    "list": "[]",
    "nan": json.dumps(ALLOW | {"extra": float("nan")}),
    "twice": '{"hookSpecificOutput": {}, ' + json.dumps(ALLOW)[1:],
    "deep": "[" * 100_000 + "]" * 100_000,
    "other": json.dumps({"ok": True}),
    "text": json.dumps({"hookSpecificOutput": "allow"}),
    "event": json.dumps({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {}}}),
}


@pytest.fixture(scope="module")
def bad() -> Iterator[str]:
    http = ThreadingHTTPServer(("127.0.0.1", 0), BadServer)
    http.closing = threading.Event()  # type: ignore[attr-defined]
    http.daemon_threads = True
    threading.Thread(target=http.serve_forever).start()
    yield f"http://127.0.0.1:{http.server_port}"
    http.closing.set()  # type: ignore[attr-defined]
    http.shutdown()
    http.server_close()


def test_everything_that_is_no_answer_blocks_with_words(asker, bad):
    nowhere = f"http://127.0.0.1:{free_port()}"
    wrong = {
        "a server that is gone": (nowhere, asker.key),
        "a wrong key": (asker.server.address, "pp_00000000_wrong"),
        "no key": (asker.server.address, ""),
        "a key that no header can carry": (asker.server.address, "pp_\u00e9"),
        "no address": ("", asker.key),
        "an address without http": ("desk.example.org", asker.key),
        "an address that is none": ("http://desk:80a0", asker.key),
        "another page of Pausepoint": (f"{asker.server.address}/login", asker.key),
        **{
            f"{status} {body}": (f"{bad}/{status}/{body}", asker.key)
            for status, bodies in {
                # Also of no status but 200 does an answer count that says allow, or nothing.
                200: "empty cut html list nan twice deep other text event",
                201: "allow none",
                204: "empty",
                302: "allow",
                401: "none",
                403: "allow",
                404: "html",
                422: "none",
                429: "allow",
                500: "allow",
                502: "html",
            }.items()
            for body in bodies.split()
        },
        "an empty object of another server": (f"{bad}/200/none/foreign", asker.key),
        "the answer of another server": (f"{bad}/200/allow/foreign", asker.key),
        "no answer at all": (f"{bad}/0/allow", asker.key),
    }
    more = ("--patience", "1s", "--give-up-after", "1s")
    hooks = {what: started(address, key, *more) for what, (address, key) in wrong.items()}
    for hook in hooks.values():
        report(hook)
    found = {what: ended(hook) for what, hook in hooks.items()}
    assert {what: end for what, end in found.items() if end[:2] != (2, "") or not end[2].startswith(WORDS)} == {}
    # The same server, where it answers as Pausepoint does.
    hook = started(f"{bad}/200/none", asker.key)
    report(hook)
    assert ended(hook) == (0, "{}", "")


def test_a_shell_blocks_where_the_command_cannot(asker, decider, tmp_path: Path):
    unusable = tmp_path / "pausepoint"
    unusable.write_text("#!/absent/python\n")
    unusable.chmod(0o755)
    itself = f"{sys.executable} -m pausepoint.cli"
    settings = {
        "PAUSEPOINT_URL": asker.server.address,
        "PAUSEPOINT_KEY": asker.key,
        "PYTHONPATH": str(ROOT / "clients" / "python"),
    }

    def shell(command: str, **more: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        environment = os.environ | settings | more
        return subprocess.Popen(
            ["/bin/sh", "-c", command], env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )

    def alone(ends: str, address: str = asker.server.address) -> subprocess.Popen[str]:
        return shell(f"{itself} --url {address} hook claude-code --patience 1s --give-up-after 1s {ends}; exit $?")

    hooks = {
        "no command": shell(blocking(f"{tmp_path}/absent hook claude-code")),
        "no Python": shell(blocking(f"{unusable} hook claude-code")),
        "no package": shell(blocking(f"{itself} hook claude-code"), PYTHONPATH="/nowhere"),
        "an option that is none": shell(blocking(f"{itself} hook claude-code --absent")),
        "no standard input": alone("<&-"),
        # With a folder, Python does not even start.
        "a standard input that cannot be read": shell(blocking(f"{itself} hook claude-code < /")),
        "no standard output": alone(">&-"),
        "a full disk": alone("> /dev/full"),
        "nowhere to say why": alone("2> /dev/full", f"http://127.0.0.1:{free_port()}"),
        "nothing to say it with": alone(">&- 2>&-", f"http://127.0.0.1:{free_port()}"),
    }
    for hook in hooks.values():
        # Some of them do not read it.
        with contextlib.suppress(BrokenPipeError):
            hook.communicate(json.dumps(BASH | {"session_id": str(uuid.uuid4())}), timeout=SOON)
    assert {what: hook.wait(SOON) for what, hook in hooks.items()} == dict.fromkeys(hooks, 2)

    killed = shell(blocking(f"{itself} hook claude-code"))
    waiting(decider, report(killed))
    (child,) = Path(f"/proc/{killed.pid}/task/{killed.pid}/children").read_text().split()
    os.kill(int(child), signal.SIGKILL)
    code, out, errors = ended(killed)
    assert (code, out, errors.splitlines()[-1]) == (2, "", BLOCKED)


def test_a_report_of_what_has_run_is_said_to_be_lost_and_blocks_nothing(asker):
    reported = {"hook_event_name": "PostToolUse", "tool_response": "out"}
    hook = started(asker.server.address, asker.key)
    report(hook, **reported)
    assert ended(hook) == (0, "{}", "")
    hook = started(f"http://127.0.0.1:{free_port()}", asker.key, "--patience", "1s")
    report(hook, **reported)
    code, out, errors = ended(hook)
    assert (code, out, errors.startswith("The result of this call was not reported to Pausepoint. ")) == (1, "", True)


def test_everything_that_no_agent_reports_blocks_with_words(asker):
    large = json.dumps(BASH | {"tool_input": {"command": "x" * 2_000_001}})
    # A report blocks nothing, so a call must not be taken for one.
    twice = '{"hook_event_name": "PreToolUse", "hook_event_name": "PostToolUse"}'
    deep = json.dumps(BASH | {"tool_input": 0}).replace("0}", "[" * 100_000 + "]" * 100_000 + "}")
    bodies = [
        " ", "{", "[]", "{}", "NaN", '{"hook_event_name": 7}', '{"hook_event_name": "Stop"}', "\udcff", large, twice, deep,
        '{"hook_event_name": "PostToolUse", "tool_input": {"amount": NaN}}',
        '{"hook_event_name": "PostToolUse", "tool_input": {"amount": 1, "amount": 2}}',
    ]  # fmt: skip
    hooks = [started(asker.server.address, asker.key) for _ in bodies]
    for body, hook in zip(bodies, hooks, strict=True):
        assert hook.stdin is not None
        hook.stdin.buffer.write(body.encode(errors="surrogateescape"))
    for body, hook in zip(bodies, hooks, strict=True):
        code, out, errors = ended(hook)
        assert (code, out, errors.startswith(WORDS)) == (2, "", True), (body[:40], errors)
    usage = started(asker.server.address, asker.key, agent="another")
    assert ended(usage, "{}")[0] == 2
