"""DEBUG=1 works only on this machine, because it shows details and its key is public."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from hitlsite.management.commands.serve import is_loopback


@pytest.mark.django_db
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "desk.example.org", ""])  # noqa: S104 - refused
def test_with_debug_a_server_listens_on_this_machine_only(settings, host):
    settings.DEBUG = True
    with pytest.raises(CommandError) as refusal:
        call_command("serve", host=host)
    assert str(refusal.value) == (
        f"With DEBUG=1, Pausepoint can only serve this machine, and {host} is not this machine. "
        "Unset DEBUG, or leave out --host."
    )


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_every_name_of_this_machine_is_accepted(host):
    assert is_loopback(host)
