"""The lines that connect an agent are the same in the product, in README.md, in the documentation and in `pausepoint connect`."""

from __future__ import annotations

import re

from pausepoint.connect.projects import JAVASCRIPT, PYTHON

from approvals.administration.connecting.integrations import INTEGRATIONS
from tests.support.root import ROOT


def test_the_readme_has_one_line_for_each_integration():
    table = (ROOT / "README.md").read_text().split("## One line for your agent")[1].split("\n## ")[0]
    expected = [f"| [{each.title}](docs/how-to/{each.page}.md) | `{each.line}` |" for each in INTEGRATIONS]
    assert re.findall(r"^\| \[.+$", table, re.M) == expected


def test_pausepoint_connect_prints_the_lines_of_the_page():
    printed = {framework.page: framework.lines for framework in (*PYTHON, *JAVASCRIPT)}
    assert printed == {each.page: each.code for each in INTEGRATIONS if each.code}


def test_every_extra_that_the_page_installs_exists():
    package = (ROOT / "clients" / "python" / "pyproject.toml").read_text()
    extras = [extra for each in INTEGRATIONS for line in each.install for extra in re.findall(r"python\[(.+)\]", line)]
    assert [extra for extra in extras if f"\n{extra} = [" not in package] == []
    assert len(extras) == 11


def test_the_documentation_of_each_integration_uses_what_its_lines_use():
    missing = []
    for each in INTEGRATIONS:
        text = (ROOT / "docs" / "how-to" / f"{each.page}.md").read_text()
        # The called function; pages call it with more arguments.
        called = re.findall(r"(?:\b(?<!Async)(?!Desk\()\w+\(|\.\w+$)", each.line)[:1] if each.code else []
        adapters = [line for line in each.code if re.search(r"pausepoint(?:\.|/client/)\w", line)]
        commands = [line for line in each.commands if not line.startswith("curl")]
        missing += [f"{each.page}: {part}" for part in (*called, *adapters, *commands) if part not in text]
    assert missing == []
