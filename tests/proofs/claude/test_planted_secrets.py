"""For all upstream errors, no secret of the installation and no key reaches a table, a page or a log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.proofs.claude.agents import CHARGES, RELEASE
from tests.support.anthropic_server import KEY, AnthropicServer, Reply, answer, error, refuses, says, text
from tests.support.processes.deployed import Site, site

SECRET_KEY = "planted-secret-key-of-the-installation-0123456789"
FOREIGN = "sk-ant-api03-somebody-elses-key-0123456789abcdefghijklmnop"
PLANTED = f"the key {KEY} and {FOREIGN}, Authorization: Bearer {KEY}, SECRET_KEY={SECRET_KEY}"
PAGE = f"<!doctype html><html><title>502</title><body>proxy saw x-api-key: {KEY} {SECRET_KEY}</body></html>"
ALL_ROWS = """
from django.apps import apps
from django.core import serializers
for model in apps.get_models():
    print(serializers.serialize("json", model._base_manager.all()))
"""
#: Each ends a turn of its own with an error, a refusal or an odd end.
STORIES: dict[str, list[Reply]] = {
    "an error in words": [refuses(400, "invalid_request_error", PLANTED)],
    "no permission": [refuses(403, "permission_error", PLANTED)],
    "a page of a proxy": [Reply(items=[PAGE.encode()], status=502)] * 4,
    "overloaded": [refuses(529, "overloaded_error", PLANTED, retry_after="0")] * 4,
    "an error after the first words": [Reply(items=[*answer(text("As far as I"))[:5], error("api_error", PLANTED)])],
    "a refusal": [
        Reply(
            items=[
                *answer(text("I will not."), stop_reason="refusal")[:-2],
                {
                    "type": "message_delta",
                    "delta": {
                        "stop_reason": "refusal",
                        "stop_details": {"type": "refusal", "category": "cyber", "explanation": PLANTED},
                    },
                    "usage": {"output_tokens": 3},
                },
                {"type": "message_stop"},
            ]
        )
    ],
    "an unknown reason": [says(text("So far."), stop_reason=f"because {KEY}")],
}


@pytest.fixture
def claude() -> Iterator[AnthropicServer]:
    with AnthropicServer() as server:
        yield server


@pytest.fixture
def shop(tmp_path: Path, claude: AnthropicServer) -> Iterator[Site]:
    settings = {
        "SECRET_KEY": SECRET_KEY,
        "HITL_PROVIDER": "anthropic",
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": claude.url,
        "HITL_AGENTS": "tests.proofs.claude.agents.cashier",
        CHARGES: str(tmp_path / "charges"),
        RELEASE: str(tmp_path / "release"),
        "DATABASE_URL": f"sqlite:///{tmp_path / 'shop.sqlite3'}",
    }
    with site(tmp_path, **settings) as found:
        found.set_up()
        found.serve()
        yield found


def test_no_secret_in_any_table_page_or_log(claude, shop):
    alice = shop.person("requester")
    seen: dict[str, str] = {}
    for name, replies in STORIES.items():
        claude.will(*replies)
        chat = alice.start_chat(name, agent="cashier")
        shop.wait_for_turn(chat, "completed" if name in {"a refusal", "an unknown reason"} else "failed")
        seen[f"the page after {name}"] = alice.get(f"/chats/{chat}/").text
        seen[f"the export after {name}"] = alice.get(f"/chats/{chat}/export/").text
    seen["the tables"] = shop.run(ALL_ROWS)
    seen["the logs"] = shop.said()
    found = {
        (place, secret)
        for place, words in seen.items()
        for secret in (KEY, FOREIGN, SECRET_KEY)
        if secret in words or json.dumps(secret)[1:-1] in words
    }
    assert found == set()
    assert "As far as I" in seen["the tables"]
