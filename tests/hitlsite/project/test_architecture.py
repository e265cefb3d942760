"""The shape of the code: one direction of imports between apps and between rooms, and one writer per app."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

from tests.support.root import ROOT
from tests.support.sources import APPS, dotted, functions, parsed, sources

#: The rooms of each app, lowest first. A module imports from its own line and from lines above it.
ROOMS = {
    "approvals": """
        states signals
        runtime
        live
        schema
        models
        exceptions
        access
        asking
        record
        queries
        outbound
        actions
        background
        forms
        http
        pages | api
        admin
        urls routing checks apps management templatetags
        fields searching subscriptions words
    """,
    "chats": """
        states doorbell queue history checkpoints
        models
        exceptions
        agent
        providers
        queries
        claims
        actions
        engine
        pages lookback | protocols
        admin
        urls routing checks apps
    """,
}
BELOW = {"approvals": (), "chats": ("approvals",), "hitlsite": ("approvals", "chats")}

#: Who may write rows. `auth` makes API keys, the admin revokes them, the demo's command makes people.
WRITERS = (
    "approvals/actions/",
    "approvals/record/audit.py",
    "approvals/outbound/outbox.py",
    "approvals/outbound/notifications.py",
    "approvals/outbound/signing.py",
    "approvals/access/permissions.py",
    "approvals/admin/records.py",
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


def line_of(app: str, name: str) -> tuple[int, int]:
    """The line of a module's room, and its side of the `|`, whose two sides do not know each other."""
    room = name.split(".")[1]
    for number, line in enumerate(ROOMS[app].split("\n")):
        for side, rooms in enumerate(line.split("|")):
            if room in rooms.split():
                return number, side
    raise LookupError(f"{name} is in no room of the table")


def test_imports_go_one_way_between_the_apps():
    wrong = [
        f"{dotted(path)} imports {name}"
        for app in APPS
        for path in sources(app)
        for name in imported(path)
        if name.split(".")[0] in APPS and name.split(".")[0] not in {app, *BELOW[app]}
    ]
    assert wrong == []


def test_rooms_import_only_what_stands_above_them():
    wrong = []
    for app in ROOMS:
        for path in sources(app):
            module = dotted(path)
            if module == app or ".migrations." in module:
                continue
            line, side = line_of(app, module)
            for name in imported(path):
                if name.startswith(f"{app}."):
                    other, its_side = line_of(app, name)
                    if other > line or (other == line and its_side != side):
                        wrong.append(f"{module} imports {name}")
    assert wrong == []


def test_agents_history_and_checkpoints_know_no_django():
    pure = [
        *sources("chats/agent"),
        ROOT / "chats/history.py",
        ROOT / "chats/checkpoints.py",
        ROOT / "chats/lookback/alignment.py",
        ROOT / "chats/lookback/differences.py",
        ROOT / "approvals/runtime/canonical.py",
        ROOT / "approvals/runtime/translatable.py",
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
    assert set(calls) == {"chats.engine.jobs", "hitlsite.demo.conversations"}


def test_no_drawer_for_odds_and_ends():
    names = {part for path in sources(*APPS) for part in (path.stem, *path.parent.parts)}
    assert names & {"utils", "util", "helpers", "services", "common", "misc"} == set()
