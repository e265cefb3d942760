"""One POST goes to the checked address, within a total time, and a response is parsed strictly."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
import time

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from approvals import http_post
from approvals.http_post import Undelivered
from tests.support import receiver
from tests.support.receiver import Receiver, answer

#: Seconds for responses that never come; the others have time enough for a busy machine.
SOON, PATIENCE = 0.5, 60.0


def post(url: str, *, seconds: float = PATIENCE, body: bytes = b"{}", allow_private: bool = True) -> int:
    return http_post.post(url, body, {"Content-Type": "application/json"}, allow_private=allow_private, seconds=seconds)


@pytest.mark.parametrize("status", [200, 204, 299, 301, 302, 307, 404, 410, 429, 500, 503])
def test_the_status_of_the_response_is_returned_and_no_redirect_is_followed(status):
    with Receiver() as other, Receiver(lambda got: answer(status, f"Location: {other.url()}")) as there:
        assert post(there.url("/hook?a=b")) == status
        assert ([got.path for got in there.got], other.got) == (["/hook?a=b"], [])


def test_headers_and_body_arrive_unchanged():
    body = b'{"a": "' + b"x" * 1_000_000 + b'"}'
    with Receiver() as there:
        post(there.url(), body=body)
        (got,) = there.got
    assert got.body == body
    assert {name: got.headers[name] for name in ("host", "content-length", "content-type", "connection")} == {
        "host": f"127.0.0.1:{there.port}",
        "content-length": str(len(body)),
        "content-type": "application/json",
        "connection": "close",
    }


def test_an_interim_response_is_skipped():
    def twice(handler: receiver.Handler) -> None:
        handler.write(b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n")

    with Receiver(lambda got: twice) as there:
        assert post(there.url()) == 202


def test_the_body_of_a_response_is_not_read():
    with Receiver(lambda got: receiver.endless_body) as there:
        assert post(there.url()) == 200


@pytest.mark.parametrize(
    ("behaviour", "seconds", "words"),
    [
        (receiver.silent, SOON, r"no response within 0\.5 s"),
        (receiver.drip, SOON, r"no response within 0\.5 s"),
        (receiver.die, PATIENCE, "the connection was closed before a response arrived"),
        (lambda handler: None, PATIENCE, "the connection was closed before a response arrived"),
        (receiver.nonsense, PATIENCE, "the response is not HTTP"),
        (receiver.endless, PATIENCE, "the headers of the response are longer than 16,384 bytes"),
    ],
    ids=["silent", "dripping", "dying", "hanging up", "nonsense", "endless"],
)
def test_a_malformed_response_is_an_error(behaviour, seconds, words):
    # None of these ends by itself within two minutes.
    began = time.monotonic()
    with Receiver(lambda got: behaviour) as there, pytest.raises(Undelivered, match=words):
        post(there.url(), seconds=seconds)
    assert time.monotonic() - began < 2 * PATIENCE


def test_a_refused_connection_is_an_error():
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        with pytest.raises(Undelivered, match=r"no connection: .*refused"):
            post(f"http://127.0.0.1:{deaf.getsockname()[1]}/")


def test_a_name_without_an_address_is_an_error(monkeypatch):
    def look_up(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with pytest.raises(Undelivered, match="no connection"):
        post("https://nowhere.invalid/")


def test_nothing_is_sent_to_a_private_address():
    with Receiver() as there:
        with pytest.raises(Undelivered, match=r"the address points to 127\.0\.0\.1, which is in a private network"):
            post(there.url().replace("http:", "https:"), allow_private=False)
        with pytest.raises(Undelivered, match="the address must start with https"):
            post(there.url(), allow_private=False)
    assert there.got == []


def test_a_name_is_looked_up_once_and_the_checked_address_is_called(monkeypatch):
    """A name whose address changes between the check and the connection (DNS rebinding)."""
    looked_up: list[str] = []

    def look_up(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        looked_up.append(host)
        address = "127.0.0.1" if len(looked_up) == 1 else "169.254.169.254"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    with Receiver() as there:
        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        assert post(f"http://app.example.org:{there.port}/") == 204
    assert (looked_up, there.got[0].headers["host"]) == (["app.example.org"], f"app.example.org:{there.port}")


def test_the_next_address_of_a_name_is_tried(monkeypatch):
    def look_up(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        kinds = [(socket.AF_INET, "127.0.0.2"), (socket.AF_INET, "127.0.0.1")]
        return [(family, socket.SOCK_STREAM, 6, "", (address, port)) for family, address in kinds]

    with Receiver() as there:
        monkeypatch.setattr(socket, "getaddrinfo", look_up)
        assert post(f"http://app.example.org:{there.port}/") == 204


def test_a_silent_name_server_counts_against_the_total_time(monkeypatch):
    over, answered = threading.Event(), threading.Event()

    def look_up(*_: object, **__: object) -> list[tuple[object, ...]]:
        over.wait(2 * PATIENCE)
        answered.set()
        return []

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with pytest.raises(Undelivered, match=r"no response within 0\.5 s"):
        post("https://app.example.org/", seconds=SOON)
    assert not answered.is_set()
    over.set()
    assert answered.wait(PATIENCE)


def certificate(*names: x509.GeneralName) -> tuple[bytes, bytes]:
    """A self-signed certificate and its key, in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    return made.public_bytes(pem), key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)


@pytest.fixture
def over_tls(tmp_path, monkeypatch):
    """A function that makes a receiver with a trusted certificate for these names."""

    def make(*names: x509.GeneralName) -> Receiver:
        found, key = certificate(*names)
        (tmp_path / "cert.pem").write_bytes(found)
        (tmp_path / "both.pem").write_bytes(found + key)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tmp_path / "both.pem")
        return Receiver(tls=context)

    http_post.tls.cache_clear()
    yield make
    http_post.tls.cache_clear()


def test_the_certificate_must_match_the_name(over_tls):
    with over_tls(x509.DNSName("localhost")) as there:
        assert post(there.url(host="localhost")) == 204
        with pytest.raises(Undelivered, match=r"(?i)certificate"):
            post(there.url())
    assert len(there.got) == 1


def test_the_certificate_must_match_an_ip_address(over_tls):
    with over_tls(x509.IPAddress(ipaddress.ip_address("127.0.0.1"))) as there:
        assert post(there.url()) == 204


def test_a_certificate_of_an_unknown_authority_is_refused(over_tls, monkeypatch):
    with over_tls(x509.DNSName("localhost")) as there:
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(Undelivered, match="certificate verify failed"):
            post(there.url(host="localhost"))
    assert there.got == []


def test_http_to_a_tls_port_and_tls_to_an_http_port_fail(over_tls):
    with over_tls(x509.DNSName("localhost")) as there, Receiver() as plain:
        for url in (there.url().replace("https:", "http:"), plain.url().replace("http:", "https:")):
            with pytest.raises(Undelivered):
                post(url)
