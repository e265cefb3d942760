"""A server that is frozen past its lease and thawed, and a tool that blocks: their late writes, and their effect on others."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.proofs.crash.browser import words
from tests.proofs.crash.rounds import open_till
from tests.proofs.crash.till import Till, open_requests, patiently

pytestmark = pytest.mark.crash


#: Seconds: the leases of a frozen server lapse soon, and those of one on a busy machine do not.
LEASE = "6"


@pytest.fixture
def tills(template, tmp_path):
    """Two servers on one database."""
    first, second = Till(tmp_path, LEASE), Till(tmp_path, LEASE)
    shutil.copy(template, first.database)
    yield first, second
    first.end()
    second.end()


@contextlib.contextmanager
def frozen(till: Till) -> Iterator[None]:
    """The server, frozen in the middle of its work, but not of a write, which would block all others."""
    pid = till.process.pid
    for _ in patiently("a moment between two writes"):
        os.kill(pid, signal.SIGSTOP)
        for _ in patiently("the server to stand still"):
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T":
                break
        if writable(till):
            break
        os.kill(pid, signal.SIGCONT)
    yield
    os.kill(pid, signal.SIGCONT)


def writable(till: Till) -> bool:
    """Whether the write lock is free."""
    with contextlib.closing(sqlite3.connect(till.database, timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return False
        return True


def start_chat(till: Till, text: str) -> tuple[int, int]:
    """Alice writes; gives the chat and its turn."""
    till.alice.post("/chats/new/", agent="cashier", text=text)
    ((chat, turn),) = till.rows("SELECT chat_id, id FROM chats_turn ORDER BY id DESC LIMIT 1")
    return chat, turn


def wait_for(till: Till, turn: int, *states: str) -> None:
    for _ in patiently(f"the turn to be {states}"):
        if till.rows("SELECT state FROM chats_turn WHERE id = ?", turn)[0][0] in states:
            return


def test_a_frozen_tools_true_result_is_kept_though_its_turn_has_gone_to_another(tills):
    first, second = tills
    first.up()
    first.alice.log_in()
    chat, turn = start_chat(first, "slowly 4711")
    for _ in patiently("the charge"):
        if first.lines(first.charges):
            break
    with frozen(first):
        second.up()
        wait_for(second, turn, "suspended")
        assert [kind for _, kind in open_requests(second, chat)] == ["recovery"]
        first.release.write_text("go")
    wait_for(second, turn, "completed")
    assert first.lines(first.charges) == ["4711"]
    assert second.rows("SELECT state, output, attempt FROM chats_toolcall WHERE turn_id = ?", turn) == [
        ("succeeded", '"receipt 4711"', 1)
    ]
    closed = "SELECT verdict, by_id, via, comment FROM approvals_decision"
    assert second.rows(closed) == [("respond", None, "system", "The tool's own result arrived late.")]
    assert second.rows("SELECT COUNT(*) FROM approvals_auditentry WHERE event = 'tool.result'") == [(1,)]
    second.alice.log_in()
    assert "At last: receipt 4711" in words(second.alice.get(f"/chats/{chat}/"))


def test_a_frozen_runners_late_writes_are_refused(tills):
    first, second = tills
    first.up()
    first.alice.log_in()
    chat, turn = start_chat(first, "recite")
    for _ in patiently("the first words"):
        if first.rows("SELECT 1 FROM chats_turnevent WHERE turn_id = ? AND chunk LIKE '%two%'", turn):
            break
    with frozen(first):
        second.up()
        wait_for(second, turn, "completed")
        before = second.rows("SELECT blocks FROM chats_step WHERE turn_id = ?", turn)
        events = "SELECT seq, attempt FROM chats_turnevent WHERE turn_id = ? ORDER BY seq"
        streamed = second.rows(events, turn)
    for _ in patiently("the thawed runner to step back"):
        if b"another runner" in first.log.read_bytes():
            break
    assert second.rows("SELECT blocks FROM chats_step WHERE turn_id = ?", turn) == before
    assert second.rows(events, turn) == streamed
    assert {attempt for _, attempt in streamed} == {2}
    assert second.rows("SELECT kind FROM chats_turncheckpoint WHERE turn_pk = ?", turn) == [("final",)]
    second.alice.log_in()
    page = words(second.alice.get(f"/chats/{chat}/"))
    assert page.count("one two three four five six seven eight nine ten") == 1


def test_tools_that_block_disturb_no_page_and_no_other_chat(template, tmp_path):
    with open_till(template, tmp_path) as till:
        blocked = [start_chat(till, f"slowly {number}")[1] for number in range(6)]
        for _ in patiently("six tools to block"):
            if len(till.lines(till.charges)) == 6:
                break
        # A loop or a shared thread that is blocked would answer neither.
        till.alice.get("/")
        _, turn = start_chat(till, "hello")
        wait_for(till, turn, "completed")
        assert [state for (state,) in till.rows("SELECT state FROM chats_turn WHERE id IN (1, 2, 3, 4, 5, 6)")] == [
            "running"
        ] * 6
        till.release.write_text("go")
        for turn in blocked:
            wait_for(till, turn, "completed")
        assert sorted(till.lines(till.charges)) == [str(number) for number in range(6)]
