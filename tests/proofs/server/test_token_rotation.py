"""An issuer replaces its keys while many programs call: no call is lost, on one server or two."""

from __future__ import annotations

import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.desk.token_issuer import AUDIENCE, token_of
from tests.support.machine import Remote
from tests.support.openid_provider import Provider, new_key
from tests.support.processes.server import Server, until
from tests.support.services import real_processes  # noqa: F401

CALLERS = 6
MAPPED = f"""
from django.contrib.auth.models import User
from approvals.models import ApiKey, TokenIssuer

issuer = TokenIssuer.objects.create(
    name="Corp", issuer={{issuer!r}}, audience={AUDIENCE!r}, algorithms=["ES256"], scoped=False, private=True
)
ApiKey.objects.create(
    issuer=issuer, user=User.objects.get(username="requester"), claim="client_id", claim_value="billing",
    prefix="t0", scopes=["ask", "read"],
)
"""


def publish(provider: Provider, *keys: dict[str, Any]) -> None:
    provider.answers["/jwks"] = (200, json.dumps({"keys": keys}).encode())


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_rotation_under_load_loses_no_call(tmp_path: Path, real_processes, database):  # noqa: F811
    with Provider() as provider, Server(tmp_path, database=database) as server:
        (first,) = provider.keys()["keys"]
        server.run(MAPPED.format(issuer=provider.issuer))
        # The sweep reads the keys of a new issuer.
        until(lambda: server.value("SELECT count(*) FROM approvals_tokenissuer WHERE fetched_at IS NOT NULL"), "read")
        statuses: Counter[int] = Counter()
        tokens = [token_of(provider)]
        done = threading.Event()

        def call(number: int) -> None:
            while not done.is_set():
                # Old tokens are used to their end, new ones at once.
                machine = Remote(server, "requester", key=tokens[-1 - number % len(tokens)])
                statuses[machine.send("POST", "/requests", {"kind": "question", "title": "Which size?"}).status] += 1

        with ThreadPoolExecutor(CALLERS) as threads:
            callers = [threads.submit(call, number) for number in range(CALLERS)]
            try:
                until(lambda: statuses.total() > 20, "calls before the rotation")
                provider.key, provider.key_id = new_key(), "second"
                (second,) = provider.keys()["keys"]
                publish(provider, first, second)
                tokens.append(token_of(provider))
                before = statuses.total()
                until(lambda: statuses.total() > before + 40, "calls after the rotation")
            finally:
                done.set()
            for caller in callers:
                caller.result()
    assert statuses == {201: statuses.total()}
    # Once by the sweep, and once for the new key, however many calls arrived with it.
    assert provider.called.count("/jwks") == 2
