"""Measure how long the votes on many waiting requests take to be counted anew after a change of who may vote.

    .venv/bin/python -m benchmarks.recounts [--requests 5000] [--databases postgresql]

One process, on SQLite and on a PostgreSQL of its own. Each request needs two of a team of ten and has one vote, an approval or a
rejection; nothing ends. Prints the statements, the batches and the seconds.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.support.processes.server import Server

SCRIPT = """
import time
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from approvals.actions.policy.votes import recount as recounting
from approvals.administration.people.actions import give_roles
from tests.support.desk.requests import make_workflow
from tests.support.desk.votes import both, group, make_voted, vote
from tests.approvals.actions.voting.test_recounting import copies
from approvals.models import VoteRecount
from approvals.states import Verdict

owner, team = User.objects.get(username="requester"), Group.objects.create(name="Benchmark")
people = [User.objects.create(username=f"voter{{number}}") for number in range(10)]
for person in people:
    give_roles(person, ["approver"])
team.user_set.add(*people)
for verdict in (Verdict.APPROVE, Verdict.REJECT):
    request = make_voted(owner, both(group(team, votes=2)))
    vote(request, User.objects.get(pk=people[0].pk), verdict)
    copies(request, {requests} // 2 - 1)
recounting.ask_for_recount()
began = time.perf_counter()
with CaptureQueriesContext(connection) as queries:
    recounting.recount_votes()
seconds = time.perf_counter() - began
assert VoteRecount.objects.count() == 0
batches = -(-{requests} // recounting.BATCH)
row = f"{{connection.vendor:>12}}{requests:>10,}{{batches:>9}}{{len(queries):>12,}}{{seconds:>10.2f}}"
open({file!r}, "w").write(row)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=5_000)
    parser.add_argument("--databases", nargs="+", default=["sqlite", "postgresql"])
    options = parser.parse_args()
    requests = options.requests
    print(
        f"{'':>12}{'requests':>10}{'batches':>9}{'statements':>12}{'seconds':>10}",
        flush=True,
    )
    for database in options.databases:
        with (
            tempfile.TemporaryDirectory() as folder,
            Server(Path(folder), database=database) as server,
        ):
            # It would count too.
            server.stop()
            file = Path(folder) / "figures"
            server.run(SCRIPT.format(requests=requests, file=str(file)), seconds=600)
            print(file.read_text(), flush=True)


if __name__ == "__main__":
    main()
