"""`/healthz`, `/readyz` and `/metrics`: without a log-in, and correct during a database outage."""

from __future__ import annotations

import asyncio
import json
import threading
from datetime import timedelta

import pytest
from channels.layers import InMemoryChannelLayer
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from approvals import actions
from approvals.live import liveness
from approvals.models.processes import Worker, WorkerKind
from hitlsite.health import metrics, probes, readiness
from hitlsite.health.cached_answer import CachedAnswer
from hitlsite.health.probes import Probes, is_on_this_machine
from tests.support.services import real_processes  # noqa: F401 - a fixture

LOCAL = ("127.0.0.1", 50000)


class Unreachable(Exception):
    """The error of an unreachable database, with confidential text."""


async def nothing_else(scope, receive, send):
    raise AssertionError(f"{scope['path']} is no probe")


async def ask(app, path, *, method="GET", client=LOCAL, **headers):
    """Status, headers and body."""
    sent = []

    async def send(message):
        sent.append(message)

    raw = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
    scope = {"type": "http", "path": path, "method": method, "headers": raw, "client": client}
    await app(scope, None, send)
    start, body = sent
    return start["status"], dict(start["headers"]), body["body"].decode()


@pytest.mark.asyncio
async def test_healthz_does_not_use_the_database():
    # No database is allowed in this test.
    status, headers, body = await ask(Probes(nothing_else), "/healthz")
    assert (status, body) == (200, "ok\n")
    assert headers[b"cache-control"] == b"no-store"


@pytest.mark.asyncio
@pytest.mark.parametrize("path", probes.ADDRESSES)
async def test_head_has_no_body_and_other_methods_are_refused(path, monkeypatch):
    monkeypatch.setattr(readiness, "find_problems", list)
    monkeypatch.setattr(metrics.Metrics, "text", lambda self: b"pausepoint_up 1.0\n")
    app = Probes(nothing_else)
    status, headers, body = await ask(app, path, method="HEAD")
    assert (status, body, int(headers[b"content-length"]) > 0) == (200, "", True)
    status, headers, _ = await ask(app, path, method="POST")
    assert (status, headers[b"allow"]) == (405, b"GET, HEAD")


@pytest.mark.asyncio
async def test_all_other_paths_go_to_the_application():
    seen = []

    async def app(scope, receive, send):
        seen.append(scope["path"])

    for path in ("/", "/healthz/", "/readyz/x", "/metricsx"):
        await Probes(app)({"type": "http", "path": path}, None, None)
    assert seen == ["/", "/healthz/", "/readyz/x", "/metricsx"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.asyncio
async def test_a_process_whose_database_and_channel_layer_answer_is_ready():
    status, _, body = await ask(Probes(nothing_else), "/readyz")
    assert (status, json.loads(body)) == (200, {"ready": True, "wrong": []})


@pytest.mark.asyncio
async def test_a_database_outage_is_reported_without_secrets(monkeypatch):
    def away():
        raise Unreachable("password=hunter2 host=db.internal")

    monkeypatch.setattr(readiness, "find_problems", away)
    monkeypatch.setattr(metrics.Metrics, "_count_new", lambda self: away())
    app = Probes(nothing_else)
    status, _, body = await ask(app, "/readyz")
    assert (status, json.loads(body)) == (503, {"ready": False, "wrong": ["database: no answer"]})
    status, _, body = await ask(app, "/metrics")
    assert (status, body.splitlines()[-1]) == (200, "pausepoint_up 0.0")
    assert (await ask(app, "/healthz"))[0] == 200


@pytest.mark.asyncio
async def test_a_hanging_database_blocks_one_thread_for_a_limited_time(monkeypatch):
    hung, let_go = [], threading.Event()

    def hang():
        hung.append(threading.get_ident())
        let_go.wait(60)
        return []

    monkeypatch.setattr(readiness, "find_problems", hang)
    monkeypatch.setattr(probes, "TIMEOUT", 0.05)
    monkeypatch.setattr(probes, "READY_FOR", 0.0)
    app = Probes(nothing_else)
    try:
        for _ in range(3):
            answers = await asyncio.gather(*(ask(app, "/readyz") for _ in range(20)))
            assert {status for status, _, _ in answers} == {503}
        assert len(hung) == 1
    finally:
        let_go.set()


@pytest.mark.asyncio
async def test_many_clients_share_one_computation_that_a_disconnect_does_not_cancel():
    looks, go_on = [], asyncio.Event()

    async def look():
        looks.append(1)
        await go_on.wait()
        return len(looks)

    remembered = CachedAnswer(look, seconds=3600)
    asking = [asyncio.create_task(remembered.get()) for _ in range(10)]
    await asyncio.sleep(0)
    asking[0].cancel()
    await asyncio.sleep(0)
    go_on.set()
    assert await asyncio.gather(*asking[1:]) == [1] * 9
    assert await remembered.get() == 1


@pytest.mark.asyncio
async def test_an_expired_answer_is_computed_again():
    looks = []

    async def look():
        looks.append(1)
        return len(looks)

    remembered = CachedAnswer(look, seconds=0)
    assert [await remembered.get() for _ in range(3)] == [1, 2, 3]


@pytest.mark.asyncio
async def test_a_channel_layer_that_loses_messages_is_reported(monkeypatch):
    class Deaf(InMemoryChannelLayer):
        async def send(self, channel, message):
            return None

    layers = [Deaf()]
    monkeypatch.setattr(liveness, "get_channel_layer", lambda: layers[0])
    probe = liveness.RoundTrip()
    assert await readiness.check_channel_layer(probe, 0.05) == ["channel layer: no answer"]
    layers[0] = InMemoryChannelLayer()
    assert await readiness.check_channel_layer(probe, 30) == []
    assert await readiness.check_channel_layer(probe, 30) == []


@pytest.mark.asyncio
async def test_a_late_message_of_an_earlier_check_is_ignored(monkeypatch):
    layer = InMemoryChannelLayer()
    monkeypatch.setattr(liveness, "get_channel_layer", lambda: layer)
    probe = liveness.RoundTrip()
    assert await readiness.check_channel_layer(probe, 30) == []
    await layer.send(probe._channel, {"type": "echo", "nonce": "of yesterday"})
    assert await readiness.check_channel_layer(probe, 30) == []
    # No channel is left behind, after any number of probes.
    assert [name for name in layer.channels if name != probe._channel] == []


@pytest.mark.django_db
def test_an_unapplied_migration_is_reported():
    recorder = MigrationRecorder(connection)
    apps = sorted({app for app, _ in readiness._last_migrations()})
    assert {"approvals", "chats", "auth", "sessions"} <= set(apps)
    last = next(name for app, name in readiness._last_migrations() if app == "chats")
    recorder.record_unapplied("chats", last)
    assert readiness.find_problems() == ["migrations: not all are applied in chats; run `manage.py migrate`"]
    recorder.record_applied("chats", last)
    assert readiness.find_problems() == []


@pytest.mark.django_db
def test_without_a_live_worker_the_process_is_not_ready_if_workers_run_turns(monkeypatch):
    monkeypatch.setattr(readiness, "workers_run_turns", lambda: True)
    missing = ["workers: none was running in the last 30 s; start `manage.py worker`"]
    now = timezone.now()
    assert readiness.find_problems() == missing
    actions.record_heartbeat("web", WorkerKind.WEB, started_at=now, running=0)
    assert readiness.find_problems() == missing
    actions.record_heartbeat("worker", WorkerKind.WORKER, started_at=now, running=2)
    assert readiness.find_problems() == []
    Worker.objects.update(seen_at=now - timedelta(seconds=31))
    assert readiness.find_problems() == missing


@pytest.mark.django_db
def test_readiness_costs_six_queries_at_most(django_assert_max_num_queries, monkeypatch):
    monkeypatch.setattr(readiness, "workers_run_turns", lambda: True)
    # Whether the table of migrations is there, its rows, whether the triggers are on, the tables, the triggers, and
    # the workers.
    with django_assert_max_num_queries(6):
        readiness.find_problems()


@pytest.mark.parametrize(
    ("client", "here"),
    [
        (("127.0.0.1", 1), True),
        (["127.8.8.8", 1], True),
        (("::1", 1), True),
        (("::ffff:127.0.0.1", 1), True),
        (("10.0.0.1", 1), False),
        (("::ffff:10.0.0.1", 1), False),
        (("localhost", 1), False),
        (("", 1), False),
        ((), False),
        (None, False),
    ],
)
def test_which_clients_are_on_this_machine(client, here):
    assert is_on_this_machine(client) is here


@pytest.mark.asyncio
async def test_without_a_token_only_this_machine_reads_the_metrics_and_not_through_a_proxy(monkeypatch):
    monkeypatch.setattr(metrics.Metrics, "text", lambda self: b"secret of the house\n")
    app = Probes(nothing_else)
    assert (await ask(app, "/metrics"))[0] == 200
    refused = [
        await ask(app, "/metrics", client=("10.0.0.9", 1)),
        await ask(app, "/metrics", client=None),
        await ask(app, "/metrics", x_forwarded_for="10.0.0.9"),
        await ask(app, "/metrics", forwarded="for=10.0.0.9"),
        await ask(app, "/metrics", X_Real_IP="10.0.0.9"),
    ]
    assert {(status, "secret" in body) for status, _, body in refused} == {(403, False)}


@pytest.mark.asyncio
async def test_with_a_token_its_holder_reads_the_metrics_from_anywhere(monkeypatch, settings):
    monkeypatch.setattr(metrics.Metrics, "text", lambda self: b"secret of the house\n")
    settings.METRICS_TOKEN = "open sesame"
    app = Probes(nothing_else)
    away = {"client": ("10.0.0.9", 1), "x_forwarded_for": "10.0.0.9"}
    assert (await ask(app, "/metrics", authorization="Bearer open sesame", **away))[0] == 200
    for wrong in ("Bearer open", "bearer open sesame", "open sesame", "Bearer ", "Bearer ös\xff"):
        assert (await ask(app, "/metrics", authorization=wrong))[0] == 401
    assert (await ask(app, "/metrics"))[0] == 401
