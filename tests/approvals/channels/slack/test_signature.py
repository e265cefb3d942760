"""Slack's signatures: the published example, and those that slack_sdk makes and accepts."""

from __future__ import annotations

import pytest
from slack_sdk.signature import Clock, SignatureVerifier

from approvals.channels.slack.signature import is_signed

#: https://docs.slack.dev/authentication/verifying-requests-from-slack
SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
STAMP = "1531420618"
BODY = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V"
    b"&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text="
    b"&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN"
    b"&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c"
)
SIGNATURE = "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
NOW = float(STAMP)


class At(Clock):
    def __init__(self, now: float) -> None:
        self._now = now

    def now(self) -> float:
        return self._now


def test_the_published_example_is_accepted():
    assert is_signed(SECRET, SIGNATURE, STAMP, BODY, NOW)


@pytest.mark.parametrize(
    ("signature", "stamp", "body", "now"),
    [
        (SIGNATURE, STAMP, BODY + b"&", NOW),
        (SIGNATURE, STAMP, BODY.replace(b"%2F", b"/"), NOW),
        (SIGNATURE, str(int(STAMP) + 1), BODY, NOW),
        (SIGNATURE, f"0{STAMP}", BODY, NOW),
        (SIGNATURE, f" {STAMP}", BODY, NOW),
        (SIGNATURE, f"{STAMP}.0", BODY, NOW),
        (SIGNATURE, "١٥٣١٤٢٠٦١٨", BODY, NOW),
        (SIGNATURE, "9" * 5000, BODY, NOW),
        (SIGNATURE, "", BODY, NOW),
        (SIGNATURE, STAMP, BODY, NOW + 301),
        (SIGNATURE, STAMP, BODY, NOW - 301),
        (SIGNATURE.removeprefix("v0="), STAMP, BODY, NOW),
        (SIGNATURE.replace("v0", "v1"), STAMP, BODY, NOW),
        (SIGNATURE.upper(), STAMP, BODY, NOW),
        (f"{SIGNATURE}é", STAMP, BODY, NOW),
        ("", STAMP, BODY, NOW),
    ],
)
def test_anything_else_than_what_was_signed_then_is_refused(signature, stamp, body, now):
    assert not is_signed(SECRET, signature, stamp, body, now)


@pytest.mark.parametrize("body", [b"", b"payload=%7B%7D", bytes(range(128)), "päyload=…".encode(), b"x" * 100_000])
def test_signatures_are_those_of_slacks_own_library(body):
    for secret in (SECRET, "another", "ünicode"):
        signature = SignatureVerifier(secret).generate_signature(timestamp=STAMP, body=body)
        assert signature is not None
        assert is_signed(secret, signature, STAMP, body, NOW)
        assert not is_signed(f"{secret}.", signature, STAMP, body, NOW)
        for now in (NOW - 300, NOW + 300, NOW - 301, NOW + 301):
            theirs = SignatureVerifier(secret, clock=At(now)).is_valid(body, STAMP, signature)
            assert is_signed(secret, signature, STAMP, body, now) == theirs
