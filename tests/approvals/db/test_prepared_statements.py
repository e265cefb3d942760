"""The statements with SQL written once: the frequent ones of agents and people. All others are plain querysets."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[3]
#: By purpose. `*` stands for all of a module's statements.
STATEMENTS: Mapping[str, Mapping[str, str]] = {
    "who calls, and what they may do": {
        "approvals.access.callers": "_LIVE",
        "approvals.access.tokens": "_MAPPINGS",
        "approvals.access.scopes": "_NAMING _SETS",
        "approvals.access.standing": "_ACCOUNTS _MANY",
        "approvals.access.absence": "_AWAY",
    },
    "asks": {
        "approvals.actions.asking": "_NAMED _SAME _SAME_CALL",
        "approvals.actions.policy.grants.use": "_USE",
        "approvals.actions.policy.scope_index": "_KNOWN",
        "approvals.queries.policy.grants.grant_sql": "_COVERING",
        "approvals.queries.policy.deciders": "_ANYONE _AMONG",
        "approvals.queries.policy.rules.repeats": "LATEST",
    },
    "asks and decisions": {
        "approvals.actions.locking": "_ALONE _FOR_ACTOR _NAMED_WORKFLOW _WORKFLOW",
        "approvals.actions.rows": "*",
        "approvals.actions.policy.votes.cast": "_VOTED",
        "approvals.record.audit": "_ENTRY _NEW_ENTRY _REPEAT",
    },
    "reads": {"approvals.queries.requests": "WHOLE_REQUEST _LATEST _LATEST_SAME _LATEST_OF_TOOL"},
    "the page of a request, asks, results": {
        "approvals.actions.asks.facts": "_RULES",
        "approvals.queries.preferences": "_READER _SETTINGS",
    },
    # Built anew, these cost 58 % of the page of a request that waits.
    "the page of a request": {
        "approvals.queries.policy.deciders": "_SUGGESTED",
        "approvals.queries.precedents": "_LATEST _ALIKE _LISTED",
    },
    # Built anew, its four queries cost 29 % of the page that people open most.
    "the inbox": {"approvals.queries.sections": "_OF_EVERYTHING _OF_SOME"},
    "the steps of a chat": {
        "chats.actions.answering": "_LOCKED",
        "chats.actions.calling": "_RUNS",
        "chats.actions.claiming": "_FREE _SUSPENDED",
        "chats.actions.locking": "_TURN _IF_UNLOCKED",
        "chats.actions.resuming": "_STATE",
        "chats.actions.rows": "*",
        "chats.actions.writes": "_LAST_CHECKPOINT",
        "chats.engine.jobs": "_ASKED",
        "chats.engine.tool_calls": "_CHUNKS",
        "chats.engine.streams": "_STATE",
        "chats.queries.chats": "_OWN _EARLIER",
        "chats.queries.requests": "_LAST_CALLS _OF_CALL",
        "chats.queries.steps": "_STEPS_OF_TURN _CALLS_OF_TURN _CALLS_OF_STEP _STEPS_OF_MESSAGE _SHOWN",
        "chats.queries.subagents": "_USED _USED_OF _FAMILY",
        "chats.queries.turns": "_UNFINISHED _LAST _LAST_SEQ _EVENTS",
    },
}


BUILDERS = {"Prepared", "Insert", "Update"}


def calls_in(node: ast.AST) -> set[str]:
    """Return the names of the called functions."""
    calls = (one for one in ast.walk(node) if isinstance(one, ast.Call))
    return {call.func.id for call in calls if isinstance(call.func, ast.Name)}


def found() -> Iterator[tuple[str, str, str]]:
    """Yield the module and the name of each prepared statement, and the line above it."""
    for path in (path for package in ("approvals", "chats") for path in (ROOT / package).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "db.prepared" not in source:
            continue
        tree = ast.parse(source)
        functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
        builders = BUILDERS | {function.name for function in functions if calls_in(function) & BUILDERS}
        for node in tree.body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and calls_in(node) & builders:
                names = node.targets[0] if isinstance(node, ast.Assign) else node.target
                module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
                yield module, ast.unparse(names), source.splitlines()[node.lineno - 2]


def test_each_statement_is_listed_and_has_a_sentence():
    known = [
        (module, name)
        for group in STATEMENTS.values()
        for module, names in group.items()
        for name in names.split()
        if name != "*"
    ]
    all_of = {module for group in STATEMENTS.values() for module, names in group.items() if names == "*"}
    statements = list(found())
    assert sorted((module, name) for module, name, _ in statements if module not in all_of) == sorted(known)
    without = [(module, name) for module, name, before in statements if not before.startswith("#")]
    assert without == []
