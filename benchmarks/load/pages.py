"""The pages that people open most, with many rows, and what each costs in this process: CPU and statements."""

from __future__ import annotations

import asyncio
import time

from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import Permission, User
from django.contrib.sessions.backends.db import SessionStore

from approvals import actions
from approvals.models import ApprovalRequest
from approvals.states import Kind, Verdict, WorkflowState
from benchmarks.load.in_process import call, watched
from hitlsite.server.garbage import collect_garbage_rarely
from tests.support.chats.scenes import REFUND, completed, paused, text, use
from tests.support.chats.turns import make_chat
from tests.support.desk.requests import decide, make_request, make_workflow

INPUT = {
    "orderId": "4711",
    "amount": 500,
    "currency": "EUR",
    "reason": "The parcel came back",
    "notify": True,
}
TURNS = 10
#: Rounds that do not count: the first ones import and compile.
WARM_UP = 3


def seed(
    waiting: int = 60, ended: int = 60, chats: int = 40
) -> tuple[str, dict[str, str]]:
    """Fill the pages. Return the session key of a person who may decide, and the address of each page."""
    owners = [User.objects.create_user(f"owner-{number}") for number in range(10)]
    reader = User.objects.create_user("reader", is_staff=True)
    reader.user_permissions.add(
        *Permission.objects.filter(
            codename__in=["decide_approvalrequest", "view_auditentry"]
        )
    )
    for number in range(waiting + ended):
        owner = owners[number % len(owners)]
        workflow = make_workflow(owner, title=f"Refund for order {number}")
        made = make_request(
            owner,
            workflow=workflow,
            title=f"Refund order {number}?",
            input=INPUT,
            tool_name="refund",
        )
        if number >= waiting:
            decide(made, reader, Verdict.APPROVE)
            actions.end_workflow(workflow, state=WorkflowState.COMPLETED)
    for number in range(chats):
        chat = make_chat(owners[number % len(owners)])
    for _ in range(TURNS):
        completed(
            chat, "weather", text("A moment."), use("getWeather", {"city": "Rome"})
        )
    paused(chat, use("issueRefund", REFUND))
    one = ApprovalRequest.objects.filter(
        kind=Kind.APPROVAL, status="pending", tool_name="refund"
    ).latest("created_at")
    return session_of(reader), {
        "inbox, 50 rows": "/",
        "inbox, 50 decided": "/requests/?status=decided",
        "Workflows, 50 suspended": "/workflows/",
        "one request": one.get_absolute_url(),
        "one workflow with its audit log": one.workflow.get_absolute_url(),
        "audit log (admin)": "/admin/approvals/auditentry/",
        "Insights": "/insights/",
        "chats": "/chats/",
        f"a chat of {TURNS} turns": chat.get_absolute_url(),
    }


def session_of(user: User) -> str:
    """Return the key of a new session."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    assert session.session_key is not None
    return session.session_key


def measure(
    pages: dict[str, str], session_key: str, rounds: int
) -> dict[str, tuple[list[float], int, int]]:
    """Return the CPU in ms of each round, in which the pages take turns, the number of statements, and the size of each page."""
    collect_garbage_rarely()
    return asyncio.run(_measure(pages, session_key, rounds))


async def _measure(
    pages: dict[str, str], session_key: str, rounds: int
) -> dict[str, tuple[list[float], int, int]]:
    found: dict[str, tuple[list[float], int, int]] = {
        name: ([], 0, 0) for name in pages
    }
    with watched() as watch:
        for number in range(WARM_UP + rounds):
            for name, address in pages.items():
                watch.forget()
                began = time.process_time()
                size = len(
                    await call(
                        "GET",
                        address,
                        cookie=f"sessionid={session_key}",
                        accept="text/html",
                    )
                )
                taken = (time.process_time() - began) * 1000
                kept = [*found[name][0], taken] if number >= WARM_UP else []
                found[name] = kept, len(watch.statements), size
    return found
