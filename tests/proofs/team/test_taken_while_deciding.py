"""A right, factor, account or session is taken while its person decides, on two web processes: each order that locks allow.

Whichever comes first, the decision was committed before the loss, or it is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import NamedTuple

import psycopg
import pytest

from tests.proofs.team.desk import At
from tests.support.processes.deployed import Site
from tests.support.processes.server import Page, Person, until
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

#: Any unused numbers.
DECIDED, ENDED = 4_712, 4_713
#: Whoever has the lock of a gate lets no transaction through that has stored a decision, or deleted a session.
GATES = f"""
CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    PERFORM pg_advisory_xact_lock_shared(TG_ARGV[0]::int); RETURN NULL; END $$;
CREATE TRIGGER gate AFTER INSERT ON approvals_decision FOR EACH ROW EXECUTE FUNCTION gate({DECIDED});
CREATE TRIGGER gate AFTER DELETE ON django_session FOR EACH ROW EXECUTE FUNCTION gate({ENDED});
"""
CASES = 16
#: For each case, an approver with an authenticator app, logged in at two browsers, a request, and a superuser; prints their ids
#: and sessions.
PREPARE = f"""
import json
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from approvals import actions
from approvals.access.sessions import SessionStore
from approvals.administration.people.actions import give_roles
from approvals.asking.asks import Ask
from approvals.states import Kind

def browser(person):
    session = SessionStore()
    backend = settings.AUTHENTICATION_BACKENDS[0]
    proof = person.get_session_auth_hash()
    session.update({{SESSION_KEY: str(person.pk), BACKEND_SESSION_KEY: backend, HASH_SESSION_KEY: proof}})
    session.create()
    actions.record_session(person, session.session_key, address="127.0.0.1", browser="")
    return session.session_key

root = User.objects.create_superuser("root")
requester = User.objects.get(username="requester")
for number in range({CASES}):
    name = f"approver{{number}}"
    approver = User.objects.create_user(name)
    give_roles(approver, ["approver"])
    Authenticator.objects.create(user=approver, type="totp", data={{"secret": ""}})
    workflow = actions.open_workflow(
        owner=requester, scope="key:1", key=name, title="Pay", source="api", agent="till"
    )
    request = actions.request_approval(workflow, Ask(kind=Kind.APPROVAL, title="Pay"), requested_by=requester)
    browsers = [browser(person) for person in (approver, approver, root)]
    print(json.dumps([approver.pk, str(request.pk), workflow.pk, *browsers]))
"""


class Case(NamedTuple):
    """A request, its approver at one web process, in a second browser at the other one, and a superuser there."""

    person: int
    request: str
    workflow: int
    deciding: Person
    elsewhere: Person
    root: Person


@pytest.fixture(scope="module")
def gated(team: Site) -> Site:
    with psycopg.connect(team.env["DATABASE_URL"]) as connection:
        connection.execute(GATES)
    return team


@pytest.fixture(scope="module")
def prepared(gated: Site) -> Iterator[str]:
    return iter(gated.run(PREPARE).splitlines())


@pytest.fixture
def case(gated: Site, prepared: Iterator[str]) -> Case:
    person, request, workflow, *sessions = json.loads(next(prepared))
    ports = [gated.ports[0], gated.ports[1], gated.ports[1]]
    browsers = [Person(At(port), "") for port in ports]  # type: ignore[arg-type]
    for browser, session in zip(browsers, sessions, strict=True):
        browser.cookies["sessionid"] = session
        browser.get("/settings/sessions/")
    return Case(person, request, workflow, *browsers)


def take_role(case: Case) -> Page:
    return case.root.post(f"/settings/people/{case.person}/", email="", roles="requester")


def remove_factors(case: Case) -> Page:
    return case.root.post(f"/settings/people/{case.person}/factors/")


def deactivate(case: Case) -> Page:
    return case.root.post(f"/settings/people/{case.person}/active/", active="no")


def end_session(case: Case) -> Page:
    return case.elsewhere.post("/settings/sessions/end-others/")


LOSSES = [take_role, remove_factors, deactivate, end_session]


def is_waiting(connection: psycopg.Connection, behind: int) -> int:
    """Return the database process that waits for a lock of that one; 0 if there is none."""
    query = (
        """SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND %s = ANY(pg_blocking_pids(pid))"""
    )
    row = connection.execute(query, [behind]).fetchone()
    return row[0] if row else 0


class Holder:
    """A transaction that holds something back, and what waits for it."""

    def __init__(self, site: Site, statement: str) -> None:
        self.looking = psycopg.connect(site.env["DATABASE_URL"], autocommit=True)
        self.holding = psycopg.connect(site.env["DATABASE_URL"])
        self.holding.execute(statement.encode())
        self.pool = ThreadPoolExecutor(3)

    def begin(self, act: Callable[[Case], Page], case: Case, *, behind: int = 0) -> tuple[Future[Page], int]:
        """Begin an act, and return it with the database process in which it waits for this one, or for another one."""
        begun = self.pool.submit(act, case)
        behind = behind or self.holding.info.backend_pid
        return begun, until(lambda: is_waiting(self.looking, behind), f"{act.__name__} waits")

    def let_go(self) -> None:
        self.holding.rollback()


@contextmanager
def held(site: Site, statement: str) -> Iterator[Holder]:
    holder = Holder(site, statement)
    try:
        yield holder
    finally:
        holder.let_go()
        holder.pool.shutdown()
        holder.holding.close()
        holder.looking.close()


def approve(case: Case) -> Page:
    return case.deciding.decide(case.request, verdict="approve")


def outcome(site: Site, case: Case) -> tuple[str, int, bool]:
    """Return the status of the request, the number of its decisions, and whether its approver is still logged in."""
    ((status,),) = site.rows("SELECT status FROM approvals_approvalrequest WHERE id = ?", case.request)
    ((decisions,),) = site.rows("SELECT count(*) FROM approvals_decision WHERE request_id = ?", case.request)
    return status, decisions, case.deciding.get("/settings/sessions/").status == 200


@pytest.mark.parametrize("take", LOSSES)
def test_a_loss_waits_for_a_decision_that_waits_for_its_request(gated, case, take):
    with held(gated, f"SELECT 1 FROM approvals_workflow WHERE id = {case.workflow} FOR UPDATE") as holder:
        decision, deciding = holder.begin(approve, case)
        loss, _process = holder.begin(take, case, behind=deciding)
        holder.let_go()
        assert (decision.result().status, loss.result().status) == (302, 302)
    assert outcome(gated, case) == ("approved", 1, False)


@pytest.mark.parametrize("take", LOSSES)
def test_a_decision_that_comes_after_a_waiting_loss_does_not_overtake_it(gated, case, take):
    """The second decision is about the same request, and asks for it later than the loss."""
    with held(gated, f"SELECT 1 FROM approvals_workflow WHERE id = {case.workflow} FOR UPDATE") as holder:
        first, deciding = holder.begin(approve, case)
        loss, losing = holder.begin(take, case, behind=deciding)
        second, _process = holder.begin(approve, case, behind=losing)
        holder.let_go()
        assert [each.result().status for each in (first, loss, second)] == [302, 302, 401]
    assert outcome(gated, case) == ("approved", 1, False)


@pytest.mark.parametrize("take", LOSSES)
def test_a_decision_that_comes_before_the_commit_of_the_loss_waits_and_is_refused(gated, case, take):
    with held(gated, f"SELECT pg_advisory_xact_lock({ENDED})") as holder:
        loss, losing = holder.begin(take, case)
        decision, _process = holder.begin(approve, case, behind=losing)
        holder.let_go()
        assert loss.result().status == 302
        refused = decision.result()
    assert (refused.status, outcome(gated, case)) == (401, ("pending", 0, False))


@pytest.mark.parametrize("take", LOSSES)
def test_a_loss_waits_for_a_decision_that_is_stored_and_comes_after_it(gated, case, take):
    with held(gated, f"SELECT pg_advisory_xact_lock({DECIDED})") as holder:
        decision, deciding = holder.begin(approve, case)
        loss, _process = holder.begin(take, case, behind=deciding)
        # Nothing of either is visible yet.
        assert outcome(gated, case) == ("pending", 0, True)
        holder.let_go()
        assert (decision.result().status, loss.result().status) == (302, 302)
    assert outcome(gated, case) == ("approved", 1, False)
