"""Locals, parameters and attributes are named after their values."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.support.root import ROOT
from tests.support.sources import APPS, parsed, sources

#: Use instead the name of the value: `requests`, `row`, `message`, `error`, `parameters`.
REFUSED = {"found", "asked", "given", "said", "told", "one"}
#: Names of modules that hide the noun of their subject: a grant, a vote, a scope, an absence.
HIDDEN_NOUNS = {
    "ruling", "judging", "using", "giving", "scoping", "following_up", "granting", "voting", "recounting",
    "standing_in", "attending", "advising", "flooding", "sides",
}  # fmt: skip
#: Classes of two protocols, providers or pages that are the same kind of thing.
SHARED = {
    "AskHuman", "Asking", "Command", "Named", "NewReturn", "Option", "Payload", "Policy", "Question", "StreamBroken",
    "StreamedAnswer", "Tool", "ToolResult",
}  # fmt: skip
CLIENT = ROOT / "clients" / "python" / "pausepoint"
#: Names that callers of the client write.
PUBLIC = {"asked"}
#: The format of a number with commas between its thousands, such as `:,` and `:>10,.2f`.
ENGLISH_SEPARATORS = re.compile(r"\{[^{}\n]*:[^{}\s]*,(\.\d+)?[a-z%]?\}")


def bound(path: Path) -> Iterator[tuple[str, int]]:
    """Yield each name that a module binds, with its line."""
    for node in ast.walk(parsed(path)):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name, node.lineno
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name, node.lineno


def test_names_say_what_they_hold():
    used = defaultdict(list)
    for path in sources(*APPS):
        used[str(path.relative_to(ROOT))] += [f"{line}: {name}" for name, line in bound(path) if name in REFUSED]
    for path in CLIENT.rglob("*.py"):
        used[str(path.relative_to(ROOT))] += [
            f"{line}: {name}" for name, line in bound(path) if name in REFUSED - PUBLIC
        ]
    assert {path: lines for path, lines in used.items() if lines} == {}


def test_modules_are_named_after_nouns():
    named = [
        path for path in sources(*APPS) if not HIDDEN_NOUNS.isdisjoint(path.relative_to(ROOT).with_suffix("").parts)
    ]
    assert named == []


def test_public_classes_have_names_of_their_own():
    names = Counter(
        node.name
        for path in sources(*APPS)
        for node in parsed(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    shared = {name for name, number in names.items() if number > 1}
    assert shared == SHARED


def test_only_sentences_in_english_have_english_separators_in_numbers():
    """Elsewhere `approvals.text.numbers.grouped` has those of the reader, and `Count` in a sentence that is translated later."""
    written = [
        str(path.relative_to(ROOT))
        for path in sources(*APPS)
        if ENGLISH_SEPARATORS.search(path.read_text()) is not None
    ]
    assert written == ["approvals/text/translatable.py"]
