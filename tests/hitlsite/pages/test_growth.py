"""A page or a REST call takes as many statements with 1,000 rows, 300 permissions and 300 keys as with a few."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from approvals.models import ApprovalRequest
from approvals.models.keys import ApiKey
from approvals.states import Kind, Verdict
from benchmarks.load.many_requests import fill
from chats.models import Chat
from tests.support.chats.scenes import completed
from tests.support.chats.turns import make_chat
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, make_request
from tests.support.machine import Machine
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

FEW, MANY = 10, 1000


def cost(work: Callable[[], int]) -> int:
    with CaptureQueriesContext(connection) as found:
        work()
    return len(found)


@pytest.fixture(params=[0, 1])
def reads(request) -> dict[str, Callable[[], int]]:
    """Return a read of each page and each REST call of a decider, and of the lists of a person who sees only their own.

    Each test is given one half of them.
    """
    asker, decider = alice(), bob()
    chat = make_chat(asker)
    completed(chat)
    waiting = [make_request(asker, kind, tool_name="refund") for kind in (Kind.APPROVAL, Kind.QUESTION)]
    decided = make_request(asker, tool_name="refund")
    decide(decided, decider, Verdict.APPROVE)
    # Of these `fill` makes copies: the last request and the last decision.
    last = make_request(asker, tool_name="refund")
    decide(last, decider, Verdict.APPROVE)
    one, workflow = waiting[0], waiting[0].workflow
    pages = [
        "/",
        "/workflows/?q=may",
        "/requests/?status=any",
        "/?sort=deadline",
        "/palette/",
        "/palette/?q=may",
        "/requests/?status=decided&group=tool",
        "/requests/?q=may",
    ]
    pages += [one.get_absolute_url(), decided.get_absolute_url(), workflow.get_absolute_url(), "/workflows/"]
    pages += ["/insights/", "/chats/", chat.get_absolute_url()]
    own = ["/", "/workflows/", one.get_absolute_url(), "/chats/"]
    calls = ["/requests", "/requests?status=approved&tool=refund", "/requests?text=refund", f"/requests/{one.pk}"]
    calls += [f"/requests/{decided.pk}", f"/requests/{one.pk}/comments"]
    see, mine, machine = browser(decider), browser(asker), Machine(decider)
    found: dict[str, Callable[[], int]] = {
        f"page {path}": lambda path=path: see.get(path).status_code for path in pages
    }
    found |= {f"own page {path}": lambda path=path: mine.get(path).status_code for path in own}
    found |= {f"call {path}": lambda path=path: machine.get(path).status for path in calls}
    found = dict(list(found.items())[request.param :: 2])
    for name, read in found.items():
        # The first time also counts single writes, such as the last use of a key.
        assert read() == 200, name
    return found


def costs(reads: dict[str, Callable[[], int]]) -> dict[str, int]:
    return {name: cost(read) for name, read in reads.items()}


def test_rows_cost_no_statements(reads):
    found = []
    for rows in (FEW, MANY):
        with transaction.atomic():
            fill(rows, asker=User.objects.get(username="alice"))
            assert ApprovalRequest.objects.count() == rows + 4
            one = Chat.objects.get()
            Chat.objects.bulk_create(
                Chat(owner_id=one.owner_id, agent=one.agent, title="More", public_id=f"chat-{number}")
                for number in range(rows)
            )
            found.append(costs(reads))
            transaction.set_rollback(True)
    few, many = found
    assert few == many


def test_permissions_and_keys_cost_no_statements(reads):
    before = costs(reads)
    kind = ContentType.objects.get_for_model(ApprovalRequest)
    more = Permission.objects.bulk_create(
        Permission(content_type=kind, codename=f"may_{number}", name=f"May {number}") for number in range(300)
    )
    for user in User.objects.filter(username__in=["alice", "bob"]):
        user.user_permissions.add(*more)
        ApiKey.objects.bulk_create(
            ApiKey(user=user, name=f"key {number}", prefix=f"{user.pk}-{number}", secret_hash="0" * 64, scopes=["read"])
            for number in range(300)
        )
    assert costs(reads) == before
