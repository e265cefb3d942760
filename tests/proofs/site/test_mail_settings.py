"""A real mail, from a real process with the settings of its environment, to a mail server of the test's own."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading

import pytest

from tests.support.processes import starting
from tests.support.processes.server import PATIENCE

SEND = """
import django
django.setup()
from django.conf import settings
from django.core.mail import EmailMessage
sent = EmailMessage("Hello", "A link", settings.DEFAULT_FROM_EMAIL, ["bob@example.org"]).send()
print(settings.HITL_MAIL, sent)
"""


def run(script: str = SEND, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {
        "PATH": os.environ["PATH"],
        "SECRET_KEY": "0123456789abcdef" * 4,
        "DJANGO_SETTINGS_MODULE": "hitlsite.settings",
    }
    strict = "import warnings; warnings.simplefilter('error')\n"
    return starting.run(["-c", strict + script], env=clean | environment, timeout=PATIENCE)


class MailServer:
    """Speaks just enough SMTP to take one mail."""

    def __enter__(self) -> MailServer:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.lines: list[str] = []
        self.thread = threading.Thread(target=self.talk, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.thread.join(60)
        self.socket.close()

    @property
    def port(self) -> str:
        return str(self.socket.getsockname()[1])

    def talk(self) -> None:
        self.socket.settimeout(120)
        connection, _ = self.socket.accept()
        # A client that expects encryption hangs up on plain text.
        with contextlib.suppress(OSError), connection, connection.makefile("rwb") as stream:
            stream.write(b"220 ready\r\n")
            stream.flush()
            in_mail = False
            for raw in stream:
                line = raw.decode(errors="replace").rstrip("\r\n")
                self.lines.append(line)
                if in_mail and line != ".":
                    continue
                word = line.upper().split(" ")[0]
                in_mail = word == "DATA"
                stream.write({"DATA": b"354 go on\r\n", "QUIT": b"221 bye\r\n"}.get(word, b"250 fine\r\n"))
                stream.flush()
                if word == "QUIT":
                    return


def test_mail_goes_to_the_server_of_the_environment():
    with MailServer() as server:
        said = run(
            EMAIL_HOST="127.0.0.1", EMAIL_PORT=server.port, EMAIL_USE_TLS="0", DEFAULT_FROM_EMAIL="desk@a.example"
        )
    assert (said.stdout, said.stderr) == ("True 1\n", "")
    envelope = [line.split(" size")[0].lower() for line in server.lines if line.lower().startswith(("mail", "rcpt"))]
    assert envelope == ["mail from:<desk@a.example>", "rcpt to:<bob@example.org>"]
    assert "Subject: Hello" in server.lines


def test_with_debug_and_no_server_it_is_printed():
    said = run(DEBUG="1")
    assert ("Subject: Hello" in said.stdout, said.stdout.endswith("True 1\n"), said.stderr) == (True, True, "")


def test_without_a_server_mail_cannot_leave():
    assert run().stdout.split() == ["False", "1"]


@pytest.mark.parametrize(
    ("mail", "name"), [({}, "None"), ({"EMAIL_HOST": "mail.example.org"}, "account_reset_password")]
)
def test_a_new_password_by_mail_is_offered_only_where_mail_can_leave(mail, name):
    said = run(
        "import django; django.setup(); from django.urls import resolve; print(resolve('/password/reset/').url_name)",
        **mail,
    )
    assert said.stdout == f"{name}\n"


@pytest.mark.parametrize(("tls", "ssl"), [("1", "0"), ("0", "1"), ("1", "1")])
def test_a_mail_server_that_must_encrypt_gets_no_plain_mail(tls, ssl):
    with MailServer() as server:
        said = run(EMAIL_HOST="127.0.0.1", EMAIL_PORT=server.port, EMAIL_USE_TLS=tls, EMAIL_USE_SSL=ssl)
    assert (said.returncode, [line for line in server.lines if line.lower().startswith("mail from")]) == (1, [])


@pytest.mark.parametrize(
    ("name", "value"),
    [("EMAIL_PORT", "0"), ("EMAIL_PORT", "smtp"), ("HITL_NOTIFY_INTERVAL", "5"), ("EMAIL_PORT", "-1")],
)
def test_an_odd_number_is_refused(name, value):
    said = run(**{name: value})
    assert f"{name}='{value}' is not valid. Set it to a whole number from " in said.stderr.splitlines()[-1]
