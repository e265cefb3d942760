"""The names by which a chat masks secrets: those of every request of it, however many there are."""

from __future__ import annotations

from copy import copy
from uuid import uuid4

import pytest

from approvals.models import ApprovalRequest
from chats.queries.secrets import secret_names_of
from tests.support.chats.turns import make_chat
from tests.support.desk.requests import make_request, make_workflow
from tests.support.people import alice

pytestmark = pytest.mark.django_db


def test_no_name_is_left_out_of_a_chat_with_many_requests():
    owner = alice()
    chat = make_chat(owner)
    first = make_request(owner, workflow=make_workflow(owner, scope=chat.scope))
    rows = []
    for number in range(300):
        row = copy(first)
        row.pk, row.secrets = uuid4(), ["/card/number", f"iban_{number}"]
        rows.append(row)
    ApprovalRequest.objects.bulk_create(rows)
    assert set(secret_names_of(chat)) == {"number", *(f"iban_{number}" for number in range(300))}
    assert len(secret_names_of(chat)) == 301
