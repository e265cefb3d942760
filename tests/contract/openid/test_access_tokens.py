"""Access tokens of oidc-provider, which is certified, for an agent with client credentials: set up as the how-to says."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from approvals.access.issuer_keys import refresh_due_keys
from approvals.models import TokenIssuer
from tests.approvals.administration.people.test_people import administrator
from tests.contract.openid.conftest import Provider
from tests.support.desk.pressing import browser
from tests.support.desk.token_issuer import AUDIENCE, bearer
from tests.support.machine import APPROVAL
from tests.support.people import alice
from tests.support.root import ROOT

pytestmark = pytest.mark.django_db
PAGE = "/settings/token-issuers/"


def token(node: Provider, scope: str, resource: str = AUDIENCE) -> str:
    form = {"grant_type": "client_credentials", "client_id": "billing", "client_secret": "a secret of the agent"}
    answer = httpx.post(f"{node.issuer}/token", data=form | {"scope": scope, "resource": resource})
    assert answer.status_code == 200, answer.text
    text: str = answer.json()["access_token"]
    return text


@pytest.fixture
def issuer(node: Provider) -> TokenIssuer:
    alice()
    client = browser(administrator())
    form = {
        "name": "Corp",
        "issuer": node.issuer,
        "audience": AUDIENCE,
        "algorithms": ["ES256"],
        "scoped": "on",
        "private": "on",
    }
    assert client.post(PAGE, form).status_code == 302
    row = TokenIssuer.objects.get()
    # As the sweep does within a second.
    refresh_due_keys()
    mapping = {
        "name": "billing agent",
        "claim": "client_id",
        "value": "billing",
        "user": "alice",
        "scopes": ["ask", "read"],
    }
    assert client.post(f"{PAGE}{row.pk}/mappings/", mapping).status_code == 302
    return row


def test_an_agent_asks_with_a_token_and_never_decides(node, issuer):
    agent = bearer(token(node, "ask read decide"))
    asked = agent.ask()
    assert (asked["requested_by"], asked["agent"], asked["on_behalf_of"]) == ("alice", "billing", "")
    assert agent.decide(asked, "approve").refusal == (403, "person_needed")
    reader = bearer(token(node, "read"))
    assert reader.get(f"/requests/{asked['id']}").status == 200
    assert reader.post("/requests", APPROVAL).refusal == (403, "scope_missing")
    assert bearer(token(node, "ask read", "https://other.example.org")).get("/requests").status == 401


def test_the_program_of_the_how_to_gets_a_token_keeps_it_and_asks_with_it(node, issuer, monkeypatch):
    page = (ROOT / "docs/how-to/keys-and-tokens-for-agents.md").read_text()
    block = page.split("## Client credentials")[1].split("```python\n")[1].split("```")[0]
    block = block.replace("https://login.example.com", node.issuer).replace("https://desk.example.org", AUDIENCE)
    monkeypatch.setenv("CLIENT_SECRET", "a secret of the agent")
    program: dict[str, Any] = {}
    exec(block, program)  # noqa: S102 - a page of ours
    text = program["token"]()
    assert program["token"]() == text
    assert bearer(text).ask()["agent"] == "billing"
    assert program["desk"].headers["Authorization"] == f"Bearer {text}"


def test_after_the_issuer_replaced_its_keys_both_old_and_new_tokens_are_as_it_says(node, issuer):
    old = bearer(token(node, "read"))
    assert old.get("/requests").status == 200
    node.do("rotate")
    assert bearer(token(node, "read")).get("/requests").status == 200
    # The provider no longer publishes the first key.
    assert old.get("/requests").status == 401
