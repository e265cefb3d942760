"""One GET goes to the checked address, within a total time, and no more of the response is read than is wanted."""

from __future__ import annotations

import pytest

from approvals import http_post
from approvals.http_post import Undelivered
from tests.support.receiver import Behaviour, Receiver, answer, drip, endless_body, nonsense, silent

#: Seconds for responses that never come; the others have time enough for a busy machine.
SOON, PATIENCE = 0.5, 60.0


def get(url: str, *, seconds: float = PATIENCE, allow_private: bool = True) -> bytes:
    return http_post.get(url, allow_private=allow_private, seconds=seconds, max_bytes=1000)


def says(data: bytes) -> Behaviour:
    return lambda handler: handler.write(data)


@pytest.mark.parametrize(
    "head",
    [
        b"Content-Length: 5\r\n\r\nhello",
        b"\r\nhello",
        b"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
    ],
    ids=["of a length", "until the end", "in chunks"],
)
def test_the_body_is_returned(head):
    with Receiver(lambda got: says(b"HTTP/1.1 200 OK\r\n" + head), serves=True) as there:
        assert get(there.url("/a.ics?key=b")) == b"hello"
        (got,) = there.got
    assert (got.path, got.headers["connection"]) == ("/a.ics?key=b", "close")


@pytest.mark.parametrize(
    ("behave", "words"),
    [
        (answer(404), "answered 404"),
        (answer(302, "Location: http://169.254.169.254/"), "answered 302"),
        (nonsense, "the response is not HTTP, or incomplete"),
        (says(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello"), "the response is not HTTP, or incomplete"),
        (says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhello"), "not HTTP, or incomplete"),
        (says(b"HTTP/1.1 200 OK\r\n\r\n" + b"a" * 1001), "the response is longer than 1,000 bytes"),
        (endless_body, "the response is longer than 1,000 bytes"),
    ],
)
def test_any_other_answer_is_refused_in_words(behave, words):
    with Receiver(lambda got: behave, serves=True) as there, pytest.raises(Undelivered, match=words):
        get(there.url())


@pytest.mark.parametrize("behave", [silent, drip])
def test_the_total_time_is_limited(behave):
    with Receiver(lambda got: behave, serves=True) as there, pytest.raises(Undelivered, match="no response within"):
        get(there.url(), seconds=SOON)


def test_private_addresses_are_refused():
    with Receiver(serves=True) as there, pytest.raises(Undelivered, match="the address"):
        get(there.url(), allow_private=False)
