"""Make the stored databases of the first version anew: `python -m tests.proofs.site.first_version`, before the release only."""

from __future__ import annotations

import gzip
import os
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import django

from tests.proofs.site.first_version import POSTGRESQL, SQLITE
from tests.support.processes import postgres

os.environ |= {"DEBUG": "1", "DJANGO_SETTINGS_MODULE": "hitlsite.settings"}
django.setup()

from tests.support.processes.deployed import new_database, site  # noqa: E402 - it has models

#: Rows of the nouns that the demo has none of, made as the product makes them.
ROWS = """
from datetime import timedelta
from django.contrib.auth.models import User
from approvals import actions
from approvals.actions.lists.snoozing import snooze
from approvals.models import BreakGlassAccount, Flood, GroupMapping, Preferences, PrioritySettings, SavedDraft, SavedView
from approvals.actions.channels.cards import store_card
from approvals.actions.channels.clicks import NewClick, store_click
from approvals.actions.channels.connections import ChannelSecrets, encrypted
from approvals.actions.channels.relays import open_message, sealed
from approvals.models import ChannelAccount, ChannelConnection, ChannelIssuer, Relay, ScimGroup, ScimPerson, ScimRefusal
from approvals.models import EngineConnection, TeamSettings, TokenIssuer, ToolSettings
from approvals.states import Door, Verdict, Width
from django.utils import timezone
from tests.approvals.actions.policy.granting import ask, give, terms
from tests.support.desk.away import away
from tests.support.desk.carrying import make_endpoint, tell
from tests.support.desk.requests import decide, make_request
from tests.support.desk.ruling import apply_policy
from tests.support.desk.scopes import make_scope
from tests.support.desk.votes import both, group, make_team, make_voted, vote

requester, approver, auditor, admin = (
    User.objects.get(username=name) for name in ("requester", "approver", "auditor", "admin")
)
finance = make_team("Finance", approver, admin)
TeamSettings.objects.create(team=finance)
ToolSettings.objects.create(tool_name="Wire", key_fields=["/to"], grant_uses=5)
make_endpoint("https://example.org/hook")
tell(finance)
mapping = {"issuer": "https://login.example.org", "value": "finance", "group": finance}
GroupMapping.objects.create(**mapping, requested_by=admin, confirmed_by=admin)
BreakGlassAccount.objects.create(person=admin)
ScimPerson.objects.create(person=auditor, external_id="x-1")
ScimGroup.objects.create(name="Finance").people.add(auditor)
ScimRefusal.objects.create(key_name="Corp directory", method="POST", path="/Users", status=409, detail="Taken.")
EngineConnection.objects.create(name="prod-temporal", kind="temporal", url="https://temporal.example.org", route="default/decide")
TokenIssuer.objects.create(name="Corp", issuer="https://login.example.org", audience="desk", algorithms=["ES256"])
SavedDraft.objects.create(person=admin, text='{"rules": []}', saved_at=timezone.now())
SavedView.objects.create(owner=approver, name="Refunds", query="q=refund")
apply_policy({"name": "Small refunds", "match": {"tools": ["refundSmall"]}, "then": "allow"}, by=admin)
ask(requester, tool="refundSmall")
give(approver, requester, terms(Width.INPUT))
ask(requester)
waiting = make_request(requester, title="Order paper", tool_name="order")
actions.comment(waiting.pk, by=approver, via=Door.DASHBOARD, text="Is there none left?")
snooze(waiting.pk, by=approver, until=timezone.now() + timedelta(days=1))
Preferences.objects.create(person=approver, time_zone="Europe/Berlin")
PrioritySettings.objects.create(priority="high", reason_required=True)
vote(make_voted(requester, both(group(finance, votes=2)), title="Pay the rent"), approver)
rejected = make_request(requester, title="Delete the archive", tool_name="delete")
decide(rejected, approver, Verdict.REJECT, comment="It is needed for the audit.")
make_scope(auditor, by=admin, may="see", tools=["refund"])
make_scope(approver, by=admin)
away(admin, approver, reason="On holiday")
slack = {"app_id": "A1", "team_id": "T1", "team_name": "Acme", "bot_id": "U9"}
secret = encrypted(ChannelSecrets("xoxb-1", "a-secret"))
teams = {"app_id": "a", "team_id": "t", "team_name": "t", "bot_id": "28:a"}
teams = ChannelConnection.objects.create(kind="teams", secret=secret, **teams)
ChannelIssuer.objects.create(connection=teams, issuer="https://api.botframework.com")
slack = ChannelConnection.objects.create(kind="slack", secret=secret, **slack)
ChannelAccount.objects.create(connection=slack, team_id="T1", external_id="U1", user=approver)
store_card(slack, waiting, "C1", "1.1", person=None, shows="input", look="1")
clicked = {"team_id": "T1", "external_id": "U1", "channel_id": "C1", "message_ts": "1.1"}
relay = ChannelConnection.objects.create(kind="relay", team_id="chat", team_name="chat", secret=sealed("whsec_1"))
Relay.objects.create(connection=relay, address="https://relay.example.com/", shows="input", up_to=100)
open_message(ChannelAccount.objects.create(connection=relay, team_id="chat", external_id="u-1", user=approver), waiting)
store_click(slack, NewClick(key="1", data={"action": "link"}, **clicked))
Flood.objects.create(requested_by_id=requester.pk, agent="billing", tool_name="Wire", told_at=timezone.now())
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "desk.sqlite3"
        _fill(f"sqlite:///{file}", folder)
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("VACUUM")
        SQLITE.write_bytes(gzip.compress(file.read_bytes(), mtime=0))
        url = new_database()
        _fill(url, folder)
        postgres.dump(url, folder / "desk.sql")
        POSTGRESQL.write_bytes(gzip.compress((folder / "desk.sql").read_bytes(), mtime=0))


def _fill(url: str, folder: Path) -> None:
    with site(folder, DATABASE_URL=url) as desk:
        desk.manage("migrate", "--verbosity", "0")
        desk.manage("seed_demo")
        desk.run(ROWS)


if __name__ == "__main__":
    main()
