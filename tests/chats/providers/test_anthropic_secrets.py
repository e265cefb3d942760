"""Nothing that an upstream says carries a secret into a table, a page or a log."""

from __future__ import annotations

import json
import logging

import pytest
from django.apps import apps

from chats.models import Step
from chats.providers.anthropic.stream import StreamedAnswer
from chats.providers.scrubbing import scrub, scrub_json
from tests.chats.providers.test_anthropic_turns import claude, converse
from tests.support.anthropic_server import KEY, Close, Reply, answer, error, refuses, text

__all__ = ["claude"]

OTHER_KEY = "sk-ant-api03-AbCdEf0123456789"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.Zm9vYmFyYmF6"
BASE64 = "Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MGFiY2RlZg=="
HEX = "d41d8cd98f00b204e9800998ecf8427e"
HTML = f"<html><body><h1>502</h1> upstream with {OTHER_KEY}</body></html>"
PLANTED = (KEY, OTHER_KEY, JWT, BASE64, HEX, "hunter2-hunter2", "django-secret-of-this-site")
SAYS = (
    f"the header x-api-key: {KEY} and {OTHER_KEY} with Authorization: Bearer {JWT}, {BASE64} {HEX}, password=hunter2-hunter2, "
    "https://me:hunter2-hunter2@proxy.example/ django-secret-of-this-site"
)


def test_known_secrets_and_what_looks_like_one_are_removed(settings):
    settings.SECRET_KEY, settings.ANTHROPIC_API_KEY = "django-secret-of-this-site", KEY
    scrubbed = scrub(SAYS)
    assert [secret for secret in PLANTED if secret in scrubbed] == []
    assert scrub("messages.1: `tool_use` ids were found, try claude-haiku-4-5-20251001") == (
        "messages.1: `tool_use` ids were found, try claude-haiku-4-5-20251001"
    )


def test_pages_of_html_are_not_passed_on_and_texts_are_short():
    assert [scrub(HTML), scrub("<!DOCTYPE HTML>x"), len(scrub("word " * 400))] == ["", "", 300]


def test_structured_texts_are_scrubbed_at_any_depth():
    assert scrub_json({"a": [f"key {OTHER_KEY}", 1, None]}) == {"a": ["key [removed]", 1, None]}


def html(status):
    return Reply(items=[HTML.encode()], status=status, headers={"retry-after": "0"})


STOPPED = answer(text("Half"), stop_reason="refusal")
STOPPED[-2]["delta"]["stop_details"] = {"type": "refusal", "category": "cyber", "explanation": SAYS}
UNKNOWN = answer(text("Half"), stop_reason=f"odd {OTHER_KEY}")
ECHOES = {
    "a refused request": [refuses(400, "invalid_request_error", SAYS)],
    "a refused key": [refuses(401, "authentication_error", SAYS)],
    "a page of a proxy": [html(403)],
    "pages of a broken proxy": [html(502)] * 4,
    "errors": [refuses(500, "api_error", SAYS, retry_after="0")] * 4,
    "an error in the stream": [Reply(items=[*answer(text("Half"))[:4], error("api_error", SAYS)])],
    "rubbish": [Reply(items=[*answer(text("Half"))[:4], f"event: message_delta\ndata: {SAYS}\n\n".encode()])],
    "a close": [Reply(items=[*answer(text("Half"))[:4], f": {SAYS}\n\n".encode(), Close.EARLY])],
    "a refusal": [Reply(items=STOPPED)],
    "an unknown end": [Reply(items=UNKNOWN)],
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("echo", ECHOES)
def test_a_secret_that_is_echoed_is_in_no_table_and_in_no_log(claude, settings, caplog, echo):
    settings.SECRET_KEY = "django-secret-of-this-site"
    caplog.set_level(logging.INFO)
    claude.will(*ECHOES[echo])
    turn = converse()
    stored = json.dumps(
        [
            list(model.objects.values())
            for model in apps.get_models()
            if model._meta.app_label in {"chats", "approvals"}
        ],
        default=str,
    )
    logged = "\n".join(logging.Formatter().format(record) for record in caplog.records)
    assert [
        secret for secret in (*PLANTED, "<h1>") if secret in stored or secret in logged or secret in turn.error
    ] == []


@pytest.mark.django_db(transaction=True)
def test_why_claude_refused_is_stored_without_secrets(claude):
    claude.will(*ECHOES["a refusal"])
    converse()
    details = Step.objects.get().stop_details
    assert (details["type"], details["category"], "[removed]" in details["explanation"]) == ("refusal", "cyber", True)


@pytest.mark.django_db(transaction=True)
def test_an_unknown_end_keeps_the_text_and_says_the_word(claude):
    claude.will(Reply(items=answer(text("So far."), stop_reason="of_next_year")))
    turn = converse()
    step = Step.objects.get()
    assert (turn.finish_reason, step.stop_reason, step.stop_details) == ("other", "unknown", {"reason": "of_next_year"})
    assert step.blocks == [text("So far.")]


def test_why_an_answer_ended_is_said_without_the_key_that_was_sent():
    streamed = StreamedAnswer("claude", ["a key of plain words"])
    for reason in ("refusal", "of a key of plain words"):
        delta = {
            "stop_reason": reason,
            "stop_details": {"explanation": "Not for a key of plain words, nor: plain words."},
        }
        list(streamed.take({"type": "message_delta", "delta": delta}))
    assert streamed.stop_details == {
        "explanation": "Not for [removed], nor:[removed].",
        "reason": "of [removed]",
    }
