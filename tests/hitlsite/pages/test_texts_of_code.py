"""Every text for people that Python code makes can be translated: it goes through gettext, whole and with named places."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator

import pytest

from tests.support.sources import APPS, dotted, parsed, sources

MARKS = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy", "pgettext"}
#: Texts for people besides refusals: errors of forms, commands, models and deliveries, checks, and lines of commands.
#: Settings are read before there is any translation, and errors of programmers are for programmers.
SHOWN = {
    "ArgumentTypeError", "BackupFailed", "BadRequest", "CommandError", "Error", "NoSecret", "NoTarget", "NotCanonical",
    "NotTold", "ProviderError", "Refused", "Undelivered", "UnknownAgent", "Unsendable", "ValidationError", "Warning",
    "add_argument", "message_user", "write",
}  # fmt: skip
#: Two words with a blank between them; names of codes, fields and settings have none.
PROSE = re.compile(r"[^\W\d_]{2,}[,.:;”]? [^\W\d_(%“{]")
PLACEHOLDER = re.compile(r"%(?!%)(?:\((\w+)\))?[-#0 +]*\d*(?:\.\d+)?[a-zA-Z]")


def name_of(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


@functools.cache
def refusals() -> set[str]:
    """The names of all classes of modules that derive from Refusal, however far."""
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for path in sources(*APPS)
        for node in parsed(path).body
        if isinstance(node, ast.ClassDef)
    }
    found = {"Refusal"}
    while more := {name for name, above in bases.items() if above & found} - found:
        found |= more
    return found


def texts(node: ast.AST) -> Iterator[str]:
    """The unmarked texts in the arguments of a call; names of fields and compared values don't count."""
    match node:
        case ast.Call() if name_of(node) in MARKS:
            return
        case ast.Constant(value=str() as text):
            yield text
        case ast.JoinedStr(values=parts):
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in parts)
        case ast.Dict(values=values):
            for value in values:
                yield from texts(value)
        case ast.Compare() | ast.Subscript():
            return
        case _:
            for child in ast.iter_child_nodes(node):
                yield from texts(child)


def bare_texts(tree: ast.AST, shown: set[str]) -> list[str]:
    """Texts shown to people that are not marked for translation."""
    nodes = list(ast.walk(tree))
    classes = [node for node in nodes if isinstance(node, ast.ClassDef) and node.name in shown]
    own = {id(call) for node in classes for call in ast.walk(node) if isinstance(call, ast.Call)}
    calls = [call for call in nodes if isinstance(call, ast.Call) and name_of(call) not in MARKS]
    calls = [call for call in calls if name_of(call) in shown or (name_of(call) == "__init__" and id(call) in own)]
    arguments = [argument for call in calls for argument in [*call.args, *call.keywords]]
    named = {node.id for argument in arguments for node in ast.walk(argument) if isinstance(node, ast.Name)}
    given = [
        node.value
        for node in nodes
        if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id in named for to in node.targets)
    ]
    found = [text for node in [*arguments, *given] for text in texts(node)]
    return [text for text in found if PROSE.search(text) and not text.startswith("PRAGMA ")]


def marked(tree: ast.AST) -> Iterator[tuple[ast.Call, list[ast.expr]]]:
    """Yield each call that marks a text, with its arguments that are texts."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and name_of(call) in MARKS:
            yield call, call.args[:2] if name_of(call).startswith("n") else call.args[:1]


def built_texts(tree: ast.AST) -> list[str]:
    """Marked texts that are put together before they are translated, so that no catalogue can hold them."""
    return [
        ast.unparse(call)
        for call, words in marked(tree)
        for text in words
        if isinstance(text, ast.JoinedStr | ast.BinOp) or (isinstance(text, ast.Call) and name_of(text) == "format")
    ]


def unnamed_places(tree: ast.AST) -> list[str]:
    """Marked texts with places that have no names: translators cannot put them into another order."""
    constants = [text for _, words in marked(tree) for text in words if isinstance(text, ast.Constant)]
    return [
        str(text.value) for text in constants if any(not found[1] for found in PLACEHOLDER.finditer(str(text.value)))
    ]


def unfilled_places(tree: ast.AST) -> list[str]:
    """Marked texts that are filled with values by other names than their places have."""
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.BinOp(left=ast.Call() as call, op=ast.Mod(), right=ast.Dict(keys=keys)) if name_of(call) in MARKS:
                given = {key.value for key in keys if isinstance(key, ast.Constant)}
                words = [text for known, texts in marked(call) if known is call for text in texts]
                plain = [str(text.value) for text in words if isinstance(text, ast.Constant)]
                found += [text for text in plain if {place[1] for place in PLACEHOLDER.finditer(text)} - given]
    return found


@pytest.mark.parametrize(
    ("code", "bare"),
    [
        ('raise Invalid("This is bare.", {"field": "is not text"})', ["This is bare.", "is not text"]),
        ('raise Invalid(_("This is not."), {"field name": _("is not text")})', []),
        ('raise Conflict(f"Used by {name} before.")', ["Used by {} before."]),
        ('raise Conflict(_("Used by %(name)s before.") % {"name": name}, "id-1")', []),
        ('class Invalid(Refusal):\n  def __init__(self):\n    super().__init__("Not this way.")', ["Not this way."]),
        ('words = f"Used by {name} before."\nraise Conflict(words)', ["Used by {} before."]),
        ('raise TypeError("for programmers only")', []),
        ('parser.add_argument("--key", help="the key of it")', ["the key of it"]),
    ],
)
def test_the_reader_of_code_finds_what_is_bare(code, bare):
    assert bare_texts(ast.parse(code), SHOWN | {"Invalid", "Conflict"}) == bare


def found_by(reader, *apps: str) -> dict[str, list[str]]:
    found = {dotted(path): reader(parsed(path)) for path in sources(*apps or APPS)}
    return {name: texts for name, texts in found.items() if texts}


@pytest.mark.parametrize("app", APPS)
def test_no_refusal_error_check_or_command_says_what_cannot_be_translated(app):
    shown = SHOWN | refusals()
    assert found_by(lambda tree: bare_texts(tree, shown), app) == {}


def test_no_text_is_put_together_before_it_is_translated():
    example = '_(f"of {name}"); _("of %s" % name); _("of {}".format(name)); _("of %(name)s")'
    assert len(built_texts(ast.parse(example))) == 3
    assert found_by(built_texts) == {}


def test_places_in_texts_have_names():
    assert unnamed_places(ast.parse('_("%s of %d"); _("%(name)s, 100%%"); ngettext("%d", "%(n)d", n)')) == [
        "%s of %d",
        "%d",
    ]
    assert found_by(unnamed_places) == {}


def test_every_place_in_a_text_is_filled():
    assert unfilled_places(ast.parse('_("%(a)s") % {"b": 1}; _("%(a)s") % {"a": 1}')) == ["%(a)s"]
    assert found_by(unfilled_places) == {}
