"""The structure of the code: imports go one way between apps and rooms, and only writers write rows."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

from hitlsite.checks import LATE
from tests.support.root import ROOT
from tests.support.sources import APPS, dotted, functions, parsed, sources

#: The rooms of each app, lowest first. A module imports from its own line and from lines above it.
ROOMS = {
    "approvals": """
        states signals json_types
        text
        db
        crypto addresses http_post engines trace_context
        live
        schema
        models
        exceptions
        policy
        access
        asking
        record
        queries
        outbound
        actions
        background
        forms
        http
        shown
        pages | api | administration
        channels
        admin
        urls routing checks apps management templatetags
    """,
    "chats": """
        states doorbell history checkpoints
        models
        exceptions
        agent
        providers
        queries
        actions
        engine
        pages lookback | protocols
        admin
        urls routing checks apps
    """,
}
#: Rooms within a room, one per protocol, that don't import each other; their shared modules are next to them.
SIBLINGS = {"approvals.api": "rest | mcp | hooks | ask_human | agentforge", "chats.protocols": "ai_sdk | cedar"}
BELOW = {"approvals": (), "chats": ("approvals",), "hitlsite": ("approvals", "chats")}

#: Our own modules that are imported in functions, because they need a library that is loaded late, and when.
LATE_MODULES = {
    "approvals.access.tokens": "when the first access token of an issuer arrives",
    "approvals.channels.slack.web_socket": "when a desk holds a connection to Slack (Socket Mode)",
    "approvals.channels.teams.tokens": "when Teams first calls",
    "approvals.schema.validator": "when the first schema is checked",
    "approvals.text.markdown": "when the first text in Markdown is shown, or a note mentions someone",
    "chats.providers.anthropic": "when the settings name this provider: its SDK takes seconds and 60 MB",
    "chats.providers.openai": "when the settings name this provider, whose SDK is optional",
    "approvals.administration.scim.service": "when an identity provider first calls",
    "hitlsite.accounts.factors": "when the first person logs in: allauth then loads fido2",
    "hitlsite.accounts.single_sign_on": "when the first person logs in at an OpenID provider",
    "hitlsite.accounts.log_out": "with it",
    "hitlsite.accounts.tokens": "with it",
    "hitlsite.accounts.transport": "with it",
}
#: Libraries and late modules that only late modules import, at their top.
BEHIND_LATE_MODULES = {"fido2", "jwt", "markdown_it", "nh3", "referencing", "requests", "scim2_models", "scim2_server"}
BEHIND_LATE_MODULES |= {"websockets"}
BEHIND_LATE_MODULES |= {f"hitlsite.accounts.{name}" for name in ("log_out", "tokens", "transport")}
#: Modules that only settings name, as text: with REDIS_URL.
NAMED_IN_SETTINGS = ("approvals.live.redis_layer", "hitlsite.cache")

#: Modules that write rows besides `actions/` and the actions of a slice of administration, with the reason.
WRITERS = {
    "approvals/record/audit.py": "appends to the record, inside the transaction of an action",
    "approvals/outbound/outbox.py": "writes events inside the transaction of an action, and the state of their delivery",
    "approvals/outbound/notifications.py": "spreads a notice over the people it concerns while it is delivered",
    "approvals/access/issuer_keys.py": "stores the keys of an issuer, read while a call waits or by the sweep",
    "approvals/access/callers.py": "notes that a key was used, which happens before any action is called",
    "approvals/db/prepared_writes.py": "makes the SQL of `Insert`, which counts as a write where it is used",
    "approvals/db/append_only.py": "switches the triggers of the append-only tables off for maintenance",
    "hitlsite/storage.py": "stores files, and no rows",
    "hitlsite/demo/people.py": "makes the users of the demo",
}
ACTIONS = re.compile(r"(approvals|chats)/actions/|approvals/administration/\w+/actions(\.py$|/)")
WRITES = {
    "save",
    "asave",
    "create",
    "acreate",
    "bulk_create",
    "bulk_update",
    "get_or_create",
    "update_or_create",
    "delete",
    "adelete",
    "aupdate",
}
WRITING_SQL = re.compile(r"\s*(INSERT|UPDATE|DELETE|TRUNCATE|REPLACE|MERGE)\b")
#: Attributes that an object has though its class does not declare them, and why.
UNDECLARED = {
    "approvals/access/callers.py request.caller": "put there by the middleware for the views behind it",
    "approvals/access/callers.py request._dont_enforce_csrf_checks": "where Django's CSRF check looks",
    "approvals/api/rest/operations.py caller": "set by ninja: the caller that `Bearer` has returned",
    "approvals/api/rest/urls.py wrapped.csrf_exempt": "where Django's CSRF check looks",
    "hitlsite/server/handler.py chain": "ends with a method of Django's handlers that its stubs leave out",
    "hitlsite/server/outages.py response._has_been_logged": "where Django's logging looks",
    "hitlsite/server/timeouts.py connection.close_pool()": "PostgreSQL's connections alone have it",
}
#: Attributes that are asked for by name because an object may lack them, and why.
MAY_LACK = {
    "caller": "only on requests to addresses for programs",
    "decision": "Django raises where a one-to-one row is missing",
    "error": "only filters of ours can be wrong",
    "ipv4_mapped": "only IPv6 addresses have it",
    "login_required": "views have it if they say whether",
    "model_admin": "only views of the admin have it",
    "one_cursor": "only connections that have sent a prepared statement",
    "preferences": "only requests of people for pages, which the middleware has read them for",
    "standing": "only requests of people for pages, which the middleware has read it for",
    "problems": "only some providers know what their models refuse",
    "process_exception": "only some middleware looks at errors",
    "process_view": "only some middleware looks at views",
    "scim": "Django raises where a one-to-one row is missing",
    "state": "only requests of people for pages, which the middleware has read it for",
    "text": "only some events carry one",
    "user": "requests that were refused before the middleware of log-ins ran",
}


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


#: Modules that copy a row, and why.
COPIES = {
    "approvals/actions/policy/grants/use.py": "a grant after a use: the facts that it was read with must not change",
    "chats/actions/locking.py": "a turn that a runner knows, with what the lock has read of it: the runner's own must not change",
    "hitlsite/logs.py": "records of the log, which are no rows",
}


def test_no_row_is_copied_to_be_shown_or_asked_about():
    copying = {
        str(path.relative_to(ROOT)) for app in APPS for path in sources(app) if imported(path) & {"copy", "copy.copy"}
    }
    assert copying == set(COPIES)


def test_imports_go_one_way_between_the_apps():
    wrong = [
        f"{dotted(path)} imports {name}"
        for app in APPS
        for path in sources(app)
        for name in imported(path)
        if name.split(".")[0] in APPS and name.split(".")[0] not in {app, *BELOW[app]}
    ]
    assert wrong == []


def test_rooms_import_only_rooms_above_them():
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


def test_protocols_import_nothing_of_each_other():
    wrong = []
    for path in sources("approvals/api", "chats/protocols"):
        module = dotted(path)
        room = ".".join(module.split(".")[:2])
        own = module.removeprefix(f"{room}.").split(".")[0]
        for name in imported(path):
            other = name.removeprefix(f"{room}.").split(".")[0]
            # The addresses name them all.
            if name.startswith(f"{room}.") and other in SIBLINGS[room].split(" | ") and own not in {other, "urls"}:
                wrong.append(f"{module} imports {name}")
    assert wrong == []


def test_agents_history_and_checkpoints_do_not_import_django():
    pure = [
        *sources("chats/agent"),
        ROOT / "chats/history.py",
        ROOT / "chats/checkpoints.py",
        ROOT / "approvals/text/alignment.py",
        ROOT / "chats/lookback/differences.py",
        ROOT / "approvals/db/canonical_json.py",
        ROOT / "approvals/asking/digests.py",
        ROOT / "approvals/db/json_pointer.py",
        ROOT / "approvals/policy/globs.py",
        ROOT / "approvals/policy/match.py",
        ROOT / "approvals/policy/documents.py",
        ROOT / "approvals/text/translatable.py",
    ]
    assert [dotted(p) for p in pure if any(name.split(".")[0] in {"django", "channels"} for name in imported(p))] == []


def test_what_happens_to_a_turn_imports_neither_django_nor_models():
    names = imported(ROOT / "chats/actions/transitions.py")
    assert {name.rpartition(".")[0] for name in names if name.split(".")[0] in APPS} == {
        "approvals.db.canonical_json",
        "approvals.asking.digests",
        "chats.agent",
        "chats.agent.loop",
        "chats.queries.progress",
        "chats.queries.values",
        "chats.states",
    }
    assert {name.split(".")[0] for name in names} - {*APPS} == {"__future__", "collections", "dataclasses", "typing"}


def imported_late(path: Path) -> set[str]:
    """Return the library, or our own module, of each import in a function."""
    found: set[str] = set()
    for node in (node for function in functions(path) for node in ast.walk(function)):
        match node:
            case ast.Import(names=[*aliases]):
                found |= {alias.name.split(".")[0] for alias in aliases}
            case ast.ImportFrom(module=str(module), names=[*aliases]):
                ours = module.split(".")[0] in APPS
                found |= {_module_of(module, alias.name) if ours else module.split(".")[0] for alias in aliases}
    return found


def _module_of(module: str, name: str) -> str:
    """Return the module that `from module import name` loads."""
    folder = ROOT / module.replace(".", "/")
    return f"{module}.{name}" if (folder / name).is_dir() or (folder / f"{name}.py").is_file() else module


def test_imports_are_at_the_top_of_a_module_except_those_of_what_is_loaded_late():
    late = {path: imported_late(path) for path in sources(*APPS) if path.name != "apps.py"}
    assert set().union(*late.values()) == {*LATE, *LATE_MODULES} - BEHIND_LATE_MODULES


def libraries_at_the_top(path: Path) -> set[str]:
    """The libraries that a module imports when it is loaded: not in a function, and not only for types."""
    found: set[str] = set()
    for node in parsed(path).body:
        match node:
            case ast.Import(names=[*aliases]):
                found |= {alias.name.split(".")[0] for alias in aliases}
            case ast.ImportFrom(module=str(module)):
                found.add(module.split(".")[0])
    return found


def test_only_late_modules_import_late_libraries_at_the_top():
    others = [path for path in sources(*APPS) if not dotted(path).startswith((*LATE_MODULES, *NAMED_IN_SETTINGS))]
    found = {dotted(path): libraries_at_the_top(path) & {*LATE} for path in others}
    assert {name: late for name, late in found.items() if late} == {}


def writes_of(path: Path) -> list[str]:
    """Return the statements of a module that write rows, or set the status of a request."""
    found = []
    for node in ast.walk(parsed(path)):
        match node:
            case ast.Call(func=ast.Attribute(attr=name)) if name in WRITES:
                found.append(f"{node.lineno} .{name}()")
            # `QuerySet.update` takes keywords only, the methods of dictionaries and hashes take none.
            case ast.Call(func=ast.Attribute(attr="update"), args=[], keywords=[_, *_]):
                found.append(f"{node.lineno} .update()")
            case ast.Call(func=ast.Name(id="Insert" | "Update" as name)):
                found.append(f"{node.lineno} {name}()")
            case ast.Constant(value=str(text)) if WRITING_SQL.match(text):
                found.append(f"{node.lineno} {text[:20]}")
            case ast.Attribute(attr="status", ctx=ast.Store()):
                found.append(f"{node.lineno} status")
    return found


def test_only_actions_write_rows():
    found = {str(path.relative_to(ROOT)): writes_of(path) for path in sources(*APPS)}
    writers = {name: writes for name, writes in found.items() if writes and not ACTIONS.match(name)}
    assert {name: writes for name, writes in writers.items() if name not in WRITERS} == {}
    assert set(writers) == set(WRITERS)


def test_what_follows_a_commit_is_registered_in_one_place():
    calls = [(path, node) for path in sources(*APPS) for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)]
    registered = [
        str(path.relative_to(ROOT))
        for path, node in calls
        if isinstance(node.func, ast.Attribute) and node.func.attr == "on_commit"
    ]
    assert registered == ["approvals/db/transactions.py"]


def test_no_object_carries_an_undeclared_attribute():
    lines = [(path, line) for path in sources(*APPS) for line in path.read_text().splitlines()]
    found = {
        f"{path.relative_to(ROOT)} {line.split(' = ')[0].split('#')[0].strip()}"
        for path, line in lines
        if "type: ignore[attr-defined]" in line
    }
    assert found == set(UNDECLARED)


def test_no_attribute_is_asked_for_by_name_that_should_be_declared():
    calls = [node for path in sources(*APPS) for node in ast.walk(parsed(path)) if isinstance(node, ast.Call)]
    asked = {
        node.args[1].value
        for node in calls
        if isinstance(node.func, ast.Name)
        and node.func.id in {"getattr", "hasattr", "setattr"}
        and isinstance(node.args[1], ast.Constant)
    }
    assert asked == set(MAY_LACK)


def test_only_jobs_dispatches_turns():
    calls = [
        dotted(path)
        for path in sources(*APPS)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and node.attr == "advance" and isinstance(node.value, ast.Name)
    ]
    assert set(calls) == {"chats.engine.jobs", "hitlsite.demo.conversations"}


def test_no_module_is_named_utils_or_the_like():
    names = {part for path in sources(*APPS) for part in (path.stem, *path.parent.parts)}
    assert names & {"utils", "util", "helpers", "services", "common", "misc"} == set()
