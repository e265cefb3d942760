"""`manage.py serve`: serve pages, and run turns and the sweep unless workers do."""

from __future__ import annotations

import asyncio
import ipaddress
from argparse import ArgumentParser
from typing import Any

from daphne.endpoints import build_endpoint_description_strings

# The reactor of Twisted that runs on asyncio: whoever asks Twisted first gets another one.
from daphne.server import reactor
from django.conf import settings
from django.core.management import CommandError
from django.db import connections
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from twisted.internet import defer

from approvals.management.refusing import RefusingCommand
from hitlsite.asgi import application
from hitlsite.server import timeouts
from hitlsite.server.daphne import DeskServer
from hitlsite.server.garbage import collect_garbage_rarely, keep_no_statements
from hitlsite.server.work import BackgroundWork


class Command(RefusingCommand):
    help = gettext_noop(
        "Serve Pausepoint. Without workers, this process also runs turns and the sweep. "
        "It shuts down cleanly on SIGTERM."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--host",
            default="127.0.0.1",
            help=_("the address to listen on (default 127.0.0.1)"),
        )
        parser.add_argument(
            "--port",
            type=int,
            default=8000,
            help=_("the port to listen on (default 8000)"),
        )

    def handle(self, *args: Any, host: str, port: int, **options: Any) -> None:
        if settings.DEBUG and not is_loopback(host):
            raise CommandError(
                _(
                    "With DEBUG=1, Pausepoint can only serve this machine, and %(host)s is not this machine. "
                    "Unset DEBUG, or leave out --host."
                )
                % {"host": host}
            )
        timeouts.apply_limits(timeouts.PAGES)
        self.check(databases=["default"])
        # Close the connection of the checks: the loop's thread needs none, and would keep it forever.
        connections.close_all()
        if (
            not settings.DEBUG
            and not (settings.STATIC_ROOT / "staticfiles.json").exists()
        ):
            raise CommandError(
                _(
                    "The static files have not been collected. Run `manage.py collectstatic --no-input` first."
                )
            )
        server = DeskServer(
            application,
            endpoints=build_endpoint_description_strings(host=host, port=port),
            ready_callable=start_work,
            application_close_timeout=2,
            # Do not reveal the server software to clients.
            server_name="",
        )
        collect_garbage_rarely()
        keep_no_statements()
        server.run()
        if not server.listening_addresses:
            raise CommandError(
                _(
                    "Cannot listen on port %(port)s of %(host)s: it is in use or not permitted. "
                    "Choose another port with --port."
                )
                % {"port": port, "host": host}
            )


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach `host`; any name other than localhost may mean anything."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def start_work() -> None:
    """Start the background work on the server's loop, and stop it before the loop stops."""
    loop: asyncio.AbstractEventLoop = reactor._asyncioEventloop
    work = BackgroundWork(loop, runs_turns=settings.HITL_DISPATCH == "here")
    work.start()

    def on_shutdown() -> defer.Deferred[None]:
        return defer.Deferred.fromFuture(loop.create_task(work.stop()))

    reactor.addSystemEventTrigger("before", "shutdown", on_shutdown)
