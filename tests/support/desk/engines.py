"""Engines for tests: connections, requests that name them, and stand-ins that answer as an engine does."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User

from approvals.access.providers import encrypt_secret
from approvals.models import ApprovalRequest, EngineConnection
from tests.support.desk.requests import make_request
from tests.support.receiver import Behaviour, Got, Receiver, document

SECRET = "tr_prod_a-credential-of-an-engine"
RUN = "0190c0de-0000-7000-8000-000000000000"
#: By kind: a route, and an id that waits.
ROUTES = {"temporal": "default/decide", "restate": "Refunds/decide"}
IDS = {"trigger_dev": "waitpoint_abc123", "prefect": f"{RUN}/refund"}


def make_engine(kind: str, url: str, **columns: Any) -> EngineConnection:
    """An engine in a private network, with a credential."""
    usual = {"name": f"prod-{kind.replace('_', '-')}", "route": ROUTES.get(kind, ""), "private": True}
    return EngineConnection.objects.create(kind=kind, url=url, secret=encrypt_secret(SECRET), **usual | columns)


def make_waiting(engine: EngineConnection, owner: User, **changes: Any) -> ApprovalRequest:
    """A request whose decision this engine waits for."""
    callback = {"to": engine.name, "id": IDS.get(engine.kind, "run-7")}
    return make_request(owner, callback=callback, **changes)


@dataclass
class Token:
    """A stand-in for Trigger.dev with one token: the first answer counts, and each one gets a success."""

    output: str | None = None
    timed_out: bool = False
    got: list[Got] = field(default_factory=list)

    def __call__(self, got: Got) -> Behaviour:
        self.got.append(got)
        if got.path.endswith("/complete"):
            if self.output is None and not self.timed_out:
                self.output = json.dumps(got.document["data"])
            return document(200, {"success": True})
        state = "TIMED_OUT" if self.timed_out else "COMPLETED" if self.output else "WAITING"
        return document(200, {"id": "waitpoint_abc123", "status": state, "output": self.output})


def serve(behave: Any) -> Receiver:
    return Receiver(behave, serves=True)
