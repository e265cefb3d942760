"""The command `pausepoint` and a real server: its words, its exit codes, and nothing twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tests.support.machine import Remote
from tests.support.processes.server import until
from tests.support.root import ROOT
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

SOON = 120


@pytest.fixture(scope="module")
def asker(server):
    return Remote(server, "requester", ("ask", "read"))


@pytest.fixture(scope="module")
def decider(server):
    return Remote(server, "approver", ("decide", "read"))


def started(who: Remote, *arguments: str) -> subprocess.Popen[str]:
    settings = {
        "PAUSEPOINT_URL": who.server.address,
        "PAUSEPOINT_KEY": who.key,
        "PYTHONPATH": str(ROOT / "clients" / "python"),
    }
    command = [sys.executable, "-m", "pausepoint.cli", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, env=os.environ | settings, stdout=pipe, stderr=pipe, text=True, preexec_fn=heed_interrupts
    )


def heed_interrupts() -> None:
    """Tests that run in the background ignore SIGINT, and the programs that they start would too."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def ended(program: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Return the exit code, stdout and stderr."""
    out, errors = program.communicate(timeout=SOON)
    return program.returncode, out.strip(), errors.strip()


def run(who: Remote, *arguments: str) -> tuple[int, str, str]:
    return ended(started(who, *arguments))


def waiting(decider: Remote, title: str) -> str:
    """The id of the only waiting request with this title, once it is there."""

    def found() -> list[str]:
        items = decider.send("GET", "/requests?status=pending").body["items"]
        return [one["id"] for one in items if one["title"] == title]

    (only,) = until(found, f"{title!r} is asked", SOON)
    return only


@pytest.mark.shows("command", "answer")
@pytest.mark.shows("python-client", "answer")
def test_a_question_from_a_shell_is_answered_in_another(asker, decider):
    title = f"Which region, {uuid.uuid4()}?"
    asking = started(asker, "ask", title, "--option", "eu", "--option", "us")
    request = waiting(decider, title)
    assert run(decider, "answer", request, "us") == (0, f"{title}: us", "")
    code, answer, _ = ended(asking)
    assert (code, answer) == (0, "us")


@pytest.mark.shows("command", "approve", "reject", "once", "crash")
def test_an_approval_from_a_shell_prints_what_was_approved_and_a_rejection_fails(asker, decider):
    title, name = f"Deploy, {uuid.uuid4()}?", str(uuid.uuid4())
    wanted = ("ask", title, "--tool", "deploy", "--input", '{"version": "2.14"}', "--name", name)
    code, request, _ = run(asker, *wanted, "--no-wait")
    assert (code, request) == (0, waiting(decider, title))
    assert run(asker, "wait", request, "--give-up-after", "1s")[0] == 3
    assert run(asker, "approve", request)[0] == 2  # a key that may only ask
    assert run(decider, "approve", request, "--comment", "Go") == (0, f"{title}: approved", "")
    # Asked again under its name, it is the same request, which is decided.
    code, approved, _ = run(asker, *wanted)
    assert (code, json.loads(approved)) == (0, {"version": "2.14"})

    _, other, _ = run(asker, "ask", title, "--tool", "deploy", "--no-wait")
    assert run(decider, "reject", other, "--comment", "Not on a Friday")[0] == 0
    assert run(asker, "wait", other) == (1, "", "rejected: Not on a Friday")


@pytest.mark.shows("command", "edit", "expire", "cancel", "person")
def test_a_shell_is_told_what_was_changed_and_why_nothing_may_run(asker, decider):
    title = f"Deploy, {uuid.uuid4()}?"
    wanted = ("ask", title, "--tool", "deploy", "--input", '{"version": "2.14"}')
    _, request, _ = run(asker, *wanted, "--no-wait")
    changed = {"verdict": "edit", "edited_input": {"version": "2.13"}}
    assert decider.send("POST", f"/requests/{request}/decision", changed).status == 200
    code, document, _ = run(asker, "wait", request, "--json")
    told = json.loads(document)["decision"]
    assert (code, told["approved_input"], told["by"]) == (5, {"version": "2.13"}, "API key remote of approver")

    _, request, _ = run(asker, *wanted, "--no-wait")
    assert asker.send("POST", f"/requests/{request}/cancel", {"comment": "not needed"}).status == 200
    assert run(asker, "wait", request) == (1, "", "cancelled: not needed")
    code, out, errors = run(asker, *wanted, "--timeout", "1s")
    assert (code, out, errors.splitlines()[-1]) == (1, "", "expired")


def asked_and_decided(asker: Remote, decider: Remote, decision: dict[str, object], **asked: object) -> tuple[str, ...]:
    """The words of a command that asks for a deployment which was decided like this."""
    title, name = f"Deploy, {uuid.uuid4()}?", str(uuid.uuid4())
    words = ("ask", title, "--tool", "deploy", "--input", json.dumps({"version": "2.14"} | asked), "--name", name)
    _, request, _ = run(asker, *words, "--no-wait")
    assert decider.send("POST", f"/requests/{request}/decision", decision).status == 200
    return words


@pytest.mark.shows("command", "once")
def test_one_approval_lets_one_of_many_commands_go_on(asker, decider):
    words = asked_and_decided(asker, decider, {"verdict": "approve"})
    commands = [started(asker, *words) for _ in range(4)]
    ends = sorted(ended(command)[:2] for command in commands)
    assert ends == [(0, '{"version": "2.14"}'), (6, ""), (6, ""), (6, "")]


@pytest.mark.shows("command", "edit")
def test_a_command_that_asked_for_something_else_does_not_go_on(asker, decider):
    words = asked_and_decided(asker, decider, {"verdict": "edit", "edited_input": {"version": "2.13"}})
    code, out, errors = run(asker, *words)
    assert (code, json.loads(out)) == (5, {"version": "2.13"})
    assert errors.endswith("Approved with changes: run the printed input, not the one that you asked about.")


def script(folder: Path, then: str = "") -> tuple[str, Path]:
    """A command that writes its arguments into a file, a line each time."""
    effects, path = folder / "effects.txt", folder / "deploy.sh"
    path.write_text(f'#!/bin/sh\necho "$@" >>{effects}\n{then}\n')
    path.chmod(0o755)
    return str(path), effects


@pytest.mark.shows("command", "once")
def test_what_was_approved_runs_once_and_is_reported(asker, decider, tmp_path):
    command, effects = script(tmp_path, "sleep 0.2")
    edited = {"version": "2.13", "hosts": ["a", "b"]}
    words = asked_and_decided(asker, decider, {"verdict": "edit", "edited_input": edited})
    many = [started(asker, *words, "--exec", command, "{version}", "--all", "{}") for _ in range(4)]
    assert [ended(one)[0] for one in many] == [0] * 4
    assert effects.read_text() == f"2.13 --all {json.dumps(edited)}\n"
    request = only(asker, words[1])
    assert (request["result"]["state"], request["result"]["output"]) == ("succeeded", {"exit_code": 0})


def only(who: Remote, title: str) -> dict:
    (item,) = [item for item in who.send("GET", "/requests").body["items"] if item["title"] == title]
    return who.send("GET", f"/requests/{item['id']}").body


def test_a_command_that_fails_is_reported_and_its_exit_code_is_passed_on(asker, decider, tmp_path):
    command, effects = script(tmp_path, "exit 7")
    words = asked_and_decided(asker, decider, {"verdict": "approve"})
    assert run(asker, *words, "--exec", command, "{version}")[0] == 7
    code, _, errors = run(asker, *words, "--exec", command, "{version}")
    assert (code, effects.read_text(), "ended with exit code 7" in errors) == (1, "2.14\n", True)
    result = only(asker, words[1])["result"]
    assert (result["state"], result["error"]) == ("failed", f"CommandFailed: {command} ended with exit code 7")


def test_a_change_that_the_command_does_not_take_is_not_run(asker, decider, tmp_path):
    command, effects = script(tmp_path)
    decision = {"verdict": "edit", "edited_input": {"version": "2.14", "region": "us"}}
    words = asked_and_decided(asker, decider, decision, region="eu")
    code, out, _ = run(asker, *words, "--exec", command, "{version}")
    assert (code, json.loads(out), effects.exists()) == (5, decision["edited_input"], False)
    assert run(asker, *words, "--exec", command, "{version}", "{region}")[0] == 0
    assert effects.read_text() == "2.14 us\n"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--tool", "deploy", "--exec", "no-such-command"), "There is no command 'no-such-command' to run."),
        (("--tool", "deploy", "--exec", "echo", "{version}"), "has no member 'version'"),
        (("--exec", "echo"), "give --tool"),
        (("--tool", "deploy", "--no-wait", "--exec", "echo"), "leave out --no-wait"),
    ],
)
def test_a_command_that_cannot_run_is_refused_before_anyone_is_asked(asker, words, why):
    title = f"Deploy, {uuid.uuid4()}?"
    code, _, errors = run(asker, "ask", title, *words)
    assert (code, why in errors) == (2, True)
    assert [item for item in asker.send("GET", "/requests").body["items"] if item["title"] == title] == []


def test_the_inbox_lists_what_waits_without_obeying_its_titles(asker, decider):
    mark = uuid.uuid4().hex
    asker.ask(title=f"{mark} \x1b]0;owned\x07 done", tool_name="refund")
    code, table, _ = run(decider, "inbox", "--once")
    (line,) = [line for line in table.splitlines() if mark in line]
    assert (code, line.partition(mark)[2], "\x1b" in table) == (0, " ⟨U+001B⟩]0;owned⟨U+0007⟩ done", False)


def test_what_an_agent_has_written_is_one_line_that_no_terminal_obeys(asker, decider):
    evil = "Refund\x1b[2J\r\n\u202eapproved\u2028: yes"
    shown = "Refund⟨U+001B⟩[2J⟨U+000D⟩⟨U+000A⟩⟨U+202E⟩approved⟨U+2028⟩: yes"
    label = "no\x1b[1A\u2066"
    _, question, _ = run(asker, "ask", "Which?", "--option", label, "--option", "us", "--no-wait")
    assert run(decider, "answer", question, label) == (0, "Which?: no⟨U+001B⟩[1A⟨U+2066⟩", "")
    # A program's output is unchanged.
    assert run(asker, "wait", question) == (0, label, "")
    _, approval, _ = run(asker, "ask", evil, "--tool", "pay", "--no-wait")
    code, out, _ = run(decider, "reject", approval, "--comment", evil)
    assert (code, out) == (0, f"{shown}: rejected")
    assert run(asker, "wait", approval) == (1, "", f"rejected: {shown}")


def test_an_interrupted_command_says_how_to_wait_again(asker, decider):
    title = f"Which region, {uuid.uuid4()}?"
    asking = started(asker, "ask", title)
    request = waiting(decider, title)
    assert asking.stderr is not None
    asking.stderr.readline()  # it waits now
    asking.send_signal(signal.SIGINT)
    code, _, errors = ended(asking)
    assert (code, errors) == (130, f"Interrupted. To wait again: pausepoint wait {request}")


def test_the_wrong_command_for_a_request_names_the_right_one(asker, decider):
    _, question, _ = run(asker, "ask", f"Which region, {uuid.uuid4()}?", "--no-wait")
    code, _, errors = run(decider, "approve", question)
    assert (code, errors.endswith(f"Answer this request: pausepoint answer {question} TEXT")) == (2, True)
    name = str(uuid.uuid4())
    _, approval, _ = run(asker, "ask", "Deploy?", "--tool", "deploy", "--name", name, "--no-wait")
    code, _, errors = run(decider, "answer", approval, "yes")
    assert (code, f"pausepoint approve {approval}" in errors) == (2, True)
    code, _, errors = run(asker, "ask", "Deploy it?", "--tool", "deploy", "--name", name, "--no-wait")
    assert (code, "Use another --name" in errors) == (2, True)
    code, _, errors = run(asker, "ask", "Which regions?", "--multiple", "--no-wait")
    assert (code, "--option TEXT" in errors) == (2, True)


def test_mistakes_are_said_in_one_line(asker):
    assert run(asker, "wait", str(uuid.uuid4()))[0] == 2
    assert run(asker, "ask", "?", "--timeout", "soon")[0] == 2
    code, out, errors = run(asker, "wait", str(uuid.uuid4()))
    assert (code, out, errors.count("\n"), errors.startswith("pausepoint: 404 not_found")) == (2, "", 0, True)
    absent = {"PAUSEPOINT_URL": "", "PAUSEPOINT_KEY": "", "PYTHONPATH": str(ROOT / "clients" / "python")}
    command = [sys.executable, "-m", "pausepoint.cli", "inbox"]
    found = subprocess.run(command, env=os.environ | absent, capture_output=True, text=True, check=False)
    assert (found.returncode, "PAUSEPOINT_URL" in found.stderr) == (2, True)
    # 1 would mean that it was rejected.
    code, out, errors = run(asker, "--url", "http://desk:80a0", "ask", "Deploy?", "--tool", "deploy")
    told = "pausepoint: This is not the address of a server: 'http://desk:80a0' (Invalid port: '80a0'). Give one like "
    assert (code, out, errors) == (2, "", f"{told}https://desk.example.com:8443.")


def test_grants_are_listed_and_revoked(asker, server):
    granter = Remote(server, "approver", ("decide", "read", "grant"))
    request = asker.ask(title="Send the mail?", tool_name="sendMail", input={"to": "team"}, agent="post")
    terms = {"covers": "input", "audience": "agent", "uses": 3}
    granter.send("POST", f"/requests/{request['id']}/decision", {"verdict": "approve", "grant": terms})
    code, line, _errors = run(granter, "grants", "--tool", "sendMail")
    grant = line.split()[0]
    assert (code, " ".join(line.split()[1:])) == (0, "sendMail input agent used 0 of 3 by API key remote of approver")
    refused = run(Remote(server, "approver", ("read",)), "grants", "--revoke", grant)
    assert (refused[0], "scope" in refused[2]) == (2, True)
    assert run(granter, "grants", "--revoke", grant, "--reason", "Done with it") == (0, "sendMail: revoked", "")
    assert run(granter, "grants", "--tool", "sendMail") == (0, "Nothing runs without asking.", "")
    code, ended, _errors = run(granter, "grants", "--tool", "sendMail", "--ended", "--json")
    assert (code, [each["id"] for each in json.loads(ended)]) == (0, [grant])
