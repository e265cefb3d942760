"""The shape of the code, enforced: one direction of imports, ranks, one writer per app."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

from tests.support.root import ROOT
from tests.support.sources import APPS, dotted, functions, parsed, sources

#: A module imports its own rank or a lower one. Everything named here is a module or a package below its app.
RANKS = {
    "approvals": [
        {
            "states",
            "signals",
            "canonical",
            "dbpool",
            "markdown",
            "append_only",
            "doorbell",
            "paging",
            "adminsite",
            "wire",
            "handover",
            "addresses",
            "fields",
            "gaps",
            "hearing",
            "echo",
            "pulse",
            "words",
            "searching",
            "searchtexts",
            "spots",
            "oneatatime",
            "redislayer",
            "posting",
            "couriers",
            "insights.reading",
            "insights.shapes",
            "insights.charts",
            "transcripts",
            "hints",
            "rounds",
            "visible",
            "lookalikes",
            "indexes",
            "trouble",
            "translatable",
            "translation",
        },
        {
            "schemas",
            "schemarefs",
            "schemaformats",
            "asks",
            "models",
            "subscriptions",
            "presence",
            "exceptions",
            "comments",
            "keys",
            "actors",
            "answers",
            "limits",
        },
        {"controls", "readable", "comparison"},
        {"auth", "rulings", "bodies", "signing", "letters", "sessions", "waiting", "care", "lenses"},
        {"holders"},
        {"queries", "audit", "results", "machines", "waitingroom", "threads", "insights"},
        {"outbox", "feed", "following", "triage"},
        {"webhooks", "notices", "subscriptionadmin"},
        {"telling"},
        {"actions"},
        {
            "heartbeat",
            "sweep",
            "schemaforms",
            "fieldvalues",
            "fieldviews",
            "forms",
            "cards",
            "precedents",
            "pages",
            "exports",
            "integrity",
            "templatetags",
            "lines",
            "bulk",
        },
        {"handed"},
        {
            "views",
            "hands",
            "insights.pages",
            "consumers",
            "triageviews",
            "triageconsumer",
            "reviews",
            "admin",
            "checks",
            "routing",
            "urls",
            "management",
        },
        {"doors", "rest"},
        {"apps", "migrations"},
    ],
    "chats": [
        {"states", "exceptions", "doorbell", "queue", "history", "checkpoints", "models", "alignment"},
        {"claims", "differences"},
        {"agent.events", "agent.tools", "agent.script"},
        {"agent.agent", "agent.interactive"},
        {"agent.demo", "agent.registry", "providers.base"},
        {"agent.loop", "providers.scripted", "providers.anthropic_stream", "projection"},
        {"providers.anthropic"},
        {"providers"},
        {"nesting", "doubts"},
        {"queries", "results", "runs", "wire", "branching"},
        {"actions"},
        {"streams", "toolbox", "pages", "timeline", "comparing", "exporting"},
        {"ledger", "rendering"},
        {"runner"},
        {"jobs", "sweep", "receivers"},
        {"dispatcher"},
        {"views", "lookback", "consumers", "admin", "checks", "routing", "urls", "management"},
        {"doors"},
        {"apps", "migrations"},
    ],
}
BELOW = {"approvals": (), "chats": ("approvals",), "hitlsite": ("approvals", "chats")}

#: Who may write rows. `auth` makes API keys, the admin revokes them, the demo's command makes people.
WRITERS = (
    "approvals/actions/",
    "approvals/audit.py",
    "approvals/outbox.py",
    "approvals/notices.py",
    "approvals/signing.py",
    "approvals/auth.py",
    "approvals/admin.py",
    "chats/actions/",
)
WRITES = {
    "save",
    "create",
    "bulk_create",
    "bulk_update",
    "get_or_create",
    "update_or_create",
    "delete",
    "adelete",
    "asave",
}
SEEDS = "hitlsite/management/commands/seed_demo.py"


@functools.cache
def imported(path: Path) -> set[str]:
    """The full names of everything that a module imports, functions' own imports too."""
    found: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def rank_of(app: str, name: str) -> int | None:
    """The rank of `app.name...`, by the longest entry that fits; None for what is no module of ours."""
    places = {entry: rank for rank, entries in enumerate(RANKS[app]) for entry in entries}
    parts = name.split(".")[1:]
    return next((places[".".join(parts[:n])] for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in places), None)


def test_imports_go_one_way_between_the_apps():
    wrong = [
        f"{dotted(path)} imports {name}"
        for app in APPS
        for path in sources(app)
        for name in imported(path)
        if name.split(".")[0] in APPS and name.split(".")[0] not in {app, *BELOW[app]}
    ]
    assert wrong == []


def test_every_module_has_a_rank():
    modules = [(app, path) for app in RANKS for path in sources(app) if dotted(path) != app and path.read_text()]
    assert [dotted(path) for app, path in modules if rank_of(app, dotted(path)) is None] == ["chats.agent"]


def test_modules_import_their_own_rank_or_lower():
    wrong = []
    for path in sources(*RANKS):
        app = dotted(path).split(".")[0]
        own = rank_of(app, dotted(path))
        for name in imported(path):
            other = rank_of(app, name) if name.startswith(f"{app}.") else None
            if own is not None and other is not None and other > own:
                wrong.append(f"{dotted(path)} imports {name}")
    assert wrong == []


def test_agents_history_and_checkpoints_know_no_django():
    pure = [
        *sources("chats/agent"),
        ROOT / "chats/history.py",
        ROOT / "chats/checkpoints.py",
        ROOT / "chats/alignment.py",
        ROOT / "chats/differences.py",
        ROOT / "approvals/canonical.py",
        ROOT / "approvals/translatable.py",
    ]
    assert [dotted(p) for p in pure if any(name.split(".")[0] in {"django", "channels"} for name in imported(p))] == []


def test_imports_stand_at_the_top():
    wrong = []
    for path in sources(*APPS):
        if path.name == "apps.py":
            continue
        inner = [n for f in functions(path) for n in ast.walk(f) if isinstance(n, ast.Import | ast.ImportFrom)]
        wrong += [f"{dotted(path)}:{node.lineno}" for node in inner]
    assert wrong == []


def test_only_the_writers_write():
    wrong = []
    for path in sources(*APPS):
        name = str(path.relative_to(ROOT))
        if name.startswith((*WRITERS, "chats/providers/")) or name == SEEDS:
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WRITES:
                wrong.append(f"{name}:{node.lineno} .{node.func.attr}()")
            if isinstance(node, ast.Assign | ast.AugAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                wrong += [
                    f"{name}:{node.lineno} status"
                    for t in targets
                    if isinstance(t, ast.Attribute) and t.attr == "status"
                ]
    assert wrong == []


def test_only_jobs_dispatches_turns():
    calls = [
        dotted(path)
        for path in sources(*APPS)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and node.attr == "advance" and isinstance(node.value, ast.Name)
    ]
    assert set(calls) == {"chats.jobs", "hitlsite.demo"}


def test_no_drawer_for_odds_and_ends():
    names = {part for path in sources(*APPS) for part in (path.stem, *path.parent.parts)}
    assert names & {"utils", "util", "helpers", "services", "common", "misc"} == set()
