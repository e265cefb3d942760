"""Errors of other servers are stored and shown without secrets and HTML pages."""

from __future__ import annotations

import base64
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chats.providers.scrubbing import KEPT, REMOVED, scrub

KEY = "sk-ant-api03-Zq8_planted-0123456789abcdefXYZ"
ODD_KEY = "büro/key+with=signs&more"

ECHOED = {
    "the whole key": (f"invalid x-api-key: {KEY}", f"invalid x-api-key: {REMOVED}"),
    "its beginning": (f"Incorrect API key provided: {KEY[:14]}...", f"Incorrect API key provided: {REMOVED}..."),
    "its end": (f"The key ending in {KEY[-9:]} is revoked.", f"The key ending in {REMOVED} is revoked."),
    "masked by the server": ("Incorrect API key: sk-proj-****abcd.", f"Incorrect API key: {REMOVED}"),
    "in quotes": (f'{{"authorization": "Bearer {KEY}"}}', f'{{"authorization": "Bearer {REMOVED}"}}'),
    "in an address": (f"https://api.test/v1?api_key={KEY}&x=1", f"https://api.test/v1?api_key={REMOVED}&x=1"),
}  # fmt: skip


@pytest.mark.parametrize("case", ECHOED)
def test_a_key_that_was_sent_is_removed_in_whole_and_in_part(case):
    said, expected = ECHOED[case]
    assert scrub(said, [KEY]) == expected


def test_a_key_with_unusual_characters_is_removed_also_from_an_address():
    assert scrub(f"a {ODD_KEY} b b%C3%BCro%2Fkey%2Bwith%3Dsigns%26more c", [ODD_KEY]) == f"a {REMOVED} b {REMOVED} c"


def test_a_short_key_is_removed_only_as_a_word():
    assert scrub("none of the nones, (none)", ["none"]) == f"{REMOVED} of the nones, ({REMOVED})"
    assert scrub("a text", [""]) == "a text"


FOREIGN = {
    "Bearer abcdef123456": f"Bearer {REMOVED}",
    "basic dXNlcjpwYXNz": f"basic {REMOVED}",
    "gsk_0123456789 and hf_abcdefgh": f"{REMOVED} and {REMOVED}",
    "key AKIAIOSFODNN7EXAMPLE": f"key {REMOVED}",
    "token=abcdef123; next": f"token={REMOVED}; next",
    '{"password": "hunter2hunter2"}': f'{{"password": "{REMOVED}"}}',
    "postgresql://bob:hunter2@db/x": f"postgresql://{REMOVED}@db/x",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln": REMOVED,
    "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY----- end": f"{REMOVED} end",
    base64.b64encode(bytes(range(40))).decode(): REMOVED,
    "0123456789abcdef0123456789abcdef": REMOVED,
}


def test_what_looks_like_a_secret_is_removed():
    assert {said: scrub(said) for said in FOREIGN} == FOREIGN


READABLE = (
    "prompt is too long: 208310 tokens > 200000 maximum",
    "messages.3.content.0: Invalid `signature` in `thinking` block",
    "No model is named accounts/fireworks/models/llama-v3p1-405b-instruct.",
    "max_tokens: 8192 > 4096, which is the maximum for claude-haiku-4-5-20251001",
    "request 3f0e9a52-9d4c-4a1c-8a52-7f6f6e0c9f11",
    "You exceeded your current quota, please check your plan and billing details.",
    "thinking.enabled.budget_tokens: at least 1024 and less than `max_tokens`",
)


def test_what_a_person_can_use_stays():
    assert [scrub(said, [KEY]) for said in READABLE] == list(READABLE)


def test_a_page_of_a_proxy_is_never_passed_on():
    pages = ["<!DOCTYPE html><p>x", "\n <HTML lang=en>", "502 <center><h1>Bad Gateway</h1>", '<?xml version="1.0"?>']
    assert [scrub(page) for page in pages] == [""] * 4


def test_a_text_becomes_one_line_of_limited_length():
    assert scrub("one\r\n\ttwo\0 three") == "one two� three"
    assert scrub("la " * 400) == ("la " * 100)[: KEPT - 1] + "…"


@given(before=st.text(), after=st.text(), cut=st.integers(0, len(KEY)))
def test_no_eight_characters_of_a_key_are_ever_left(before, after, cut):
    kept = scrub(f"{before}{KEY[cut:]}{after}{KEY}", [KEY])
    assert [KEY[start : start + 8] for start in range(len(KEY) - 7) if KEY[start : start + 8] in kept] == []


SLOW = {
    "an address": "a://" + "b" * 10**6,
    "addresses": "a://" * 10**5,
    "private keys": "-----BEGIN " * 10**5,
    "web tokens": "eyJaaaaaa" * 10**5,
    "passwords": "password" * 10**5,
    "letters": "a" * 10**6,
    "tags": "<" + " " * 10**6,
}


@pytest.mark.parametrize("case", SLOW)
def test_no_text_takes_long(case):
    begin = time.process_time()
    scrub(SLOW[case], [KEY])
    assert time.process_time() - begin < 0.2
