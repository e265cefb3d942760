"""Every class that a style sheet selects is given to something by a template, a script or Python."""

from __future__ import annotations

import re

from tests.support.root import ROOT

STYLES = ROOT / "hitlsite" / "static" / "pausepoint"
#: Its classes are those of Django's own admin.
OF_DJANGO = "admin.css"
#: Given by htmx.
OF_HTMX = {"htmx-request"}
#: A part of a class that a template or a script fills in.
FILLED = re.compile(r"{{.*?}}|\${.*?}|{[\w.]*}|%s")


def _templates() -> list[str]:
    """Return the class attributes of all templates, without the tags of Django."""
    quoted = r'class="((?:{%.*?%}|{{.*?}}|[^"])*)"'
    pages = [path.read_text() for path in (ROOT / "templates").rglob("*.html")]
    found = [text for page in pages for text in re.findall(quoted, page, flags=re.DOTALL)]
    return [re.sub(r"{%.*?%}", " ", text, flags=re.DOTALL) for text in found]


def _code() -> list[str]:
    """Return the texts of scripts in lines about classes, and of Python in markup and in names with a filled-in part."""
    scripts = [
        line for path in STYLES.glob("*.js") for line in path.read_text().splitlines() if "class" in line.lower()
    ]
    modules = [path.read_text() for app in ("approvals", "chats", "hitlsite") for path in (ROOT / app).rglob("*.py")]
    markup = r'class="([^"]*)"|"class": f?"([^"]*)"|f"([a-z]+-{[\w.]+})"'
    found = [text for module in modules for texts in re.findall(markup, module) for text in texts]
    return found + [text for line in scripts for text in re.findall(r'"[^"\n]*"|`[^`]*`', line)]


def test_every_selected_class_is_given_to_something():
    words = re.split(r"[\s\"'`<>=,.()#]+", FILLED.sub("\0", " ".join(_templates() + _code())))
    whole = {word for word in words if "\0" not in word}
    begun = tuple({word.split("\0")[0] for word in words if re.match(r"[\w-]+-\0", word)})
    dead = set()
    for sheet in STYLES.glob("*.css"):
        rules = re.sub(r"/\*.*?\*/|{[^{}]*}|\"[^\"]*\"", " ", sheet.read_text(), flags=re.DOTALL)
        selected = set(re.findall(r"\.([a-zA-Z_][\w-]*)", rules)) if sheet.name != OF_DJANGO else set()
        dead |= {f"{sheet.name} .{name}" for name in selected - whole - OF_HTMX if not name.startswith(begun)}
    assert not dead, sorted(dead)
