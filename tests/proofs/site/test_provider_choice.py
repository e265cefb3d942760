"""The provider that `make demo` chooses: Claude with a key, the scripted one without."""

from __future__ import annotations

import os

import pytest

from tests.support.processes import starting
from tests.support.processes.server import PATIENCE

FOOTER = """
import re
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.template.loader import render_to_string
from django.test import RequestFactory
request = RequestFactory().get("/chats/")
request.user = AnonymousUser()
page = render_to_string("base.html", request=request)
footer = re.search(r'<footer class="foot">(.*?)</footer>', page)[1]
print(settings.HITL_PROVIDER, re.sub("<.*?>", "", footer), sep="|")
"""
LOADED = """
import sys
from django.core.management import call_command
call_command("check", verbosity=0)
import hitlsite.asgi, chats.engine.runner, chats.providers
chats.providers.current()
print(sorted({"anthropic", "openai", "httpx2"} & set(sys.modules)))
"""
SCRIPTED = "scripted|Demo agent: prepared answers, no model."


def said_by(code, **environment):
    """The last line that a process prints in which Django has started with the demo's settings."""
    kept = {name: value for name, value in os.environ.items() if name != "HITL_PROVIDER"}
    kept |= {"DJANGO_SETTINGS_MODULE": "hitlsite.settings", "DEBUG": "1", **environment}
    whole = "import django\ndjango.setup()\n" + code
    ran = starting.run(["-c", whole], env=kept, timeout=PATIENCE)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, SCRIPTED),
        ({"ANTHROPIC_API_KEY": "sk-ant-x"}, "anthropic|Replies come from Claude (claude-sonnet-5-5)."),
        ({"ANTHROPIC_API_KEY": "sk-ant-x", "HITL_PROVIDER": "scripted"}, SCRIPTED),
        ({"HITL_PROVIDER": "openai", "HITL_MODEL": "gpt-5.5"}, "openai|Replies come from the model gpt-5.5."),
        (
            {"HITL_PROVIDER": "openai-responses", "HITL_MODEL": "gpt-5.5"},
            "openai-responses|Replies come from the model gpt-5.5.",
        ),
    ],
    ids=["no key", "a key", "a key, but scripted", "another provider", "its other API"],
)
def test_a_key_brings_claude_and_the_page_says_who_answers(environment, expected):
    assert said_by(FOOTER, **environment) == expected


def test_the_sdk_is_loaded_only_where_it_answers():
    assert said_by(LOADED) == "[]"
