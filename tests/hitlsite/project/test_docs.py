"""The lists in the documentation match the code in both directions."""

from __future__ import annotations

import os
import re
from pathlib import Path

from django.urls import URLPattern, URLResolver, get_resolver

from approvals.access.callers import DEFAULT_SCOPES, SCOPES
from approvals.exceptions import Refusal
from approvals.outbound.outbox import EVENTS as OUTBOX_EVENTS
from approvals.record.events import EVENTS
from approvals.routing import websocket_urlpatterns as desk_sockets
from approvals.states import ALIASES, Kind, Priority, Status, Verdict, WorkflowState
from chats.agent.demo import SCRIPT
from chats.routing import websocket_urlpatterns as chat_sockets
from chats.states import CallState, FinishReason, TurnState
from hitlsite.health import probes
from hitlsite.server.handler import LARGE_BODY, LONG_ADDRESS, LONG_HEADERS
from tests.support.root import ROOT

REFERENCE = ROOT / "docs" / "reference"

#: The endings of files written by people.
WRITTEN = (".py", ".md", ".html", ".js", ".css", ".toml", ".txt")
BOUNDS = (LARGE_BODY, LONG_ADDRESS, LONG_HEADERS)


def first_cells(path: Path) -> list[str]:
    """Everything in backticks in the first cell of each table row."""
    rows = [line.split("|")[1] for line in path.read_text().splitlines() if line.startswith("| `")]
    return [name for cell in rows for name in re.findall(r"`([^`]+)`", cell)]


def test_every_environment_variable_is_documented():
    read = re.findall(r'env\.\w+\(\s*"([A-Z_]+)"', (ROOT / "hitlsite" / "settings.py").read_text())
    documented = [name for name in first_cells(REFERENCE / "settings.md") if name.isupper()]
    # SDKs read these by themselves.
    by_sdks = {"ANTHROPIC_BASE_URL", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS"}
    assert sorted(documented) == sorted({*read, *by_sdks})


def test_every_command_is_documented():
    commands = {path.stem for path in ROOT.glob("*/management/commands/*.py") if path.stem != "__init__"}
    documented = {name.split()[1] for name in first_cells(REFERENCE / "settings.md") if name.startswith("manage.py ")}
    assert documented == commands


def test_every_state_is_documented():
    words = set(re.findall(r"`([a-z-]+)`", (REFERENCE / "states.md").read_text()))
    person_verdicts = {Verdict.APPROVE, Verdict.EDIT, Verdict.REJECT, Verdict.RESPOND}
    known = [Status, Kind, Priority, WorkflowState, TurnState, CallState, FinishReason]
    assert words == {str(word) for enum in known for word in enum} | {str(verdict) for verdict in person_verdicts}


def test_every_alias_is_documented():
    rows = [line.split("|") for line in (REFERENCE / "states.md").read_text().splitlines() if line.startswith("| `")]
    found = {
        alias: row[1].strip(" `") for row in rows if len(row) == 5 for alias in row[3].strip().split(", ") if alias
    }
    assert found == {alias: str(verdict) for alias, verdict in ALIASES.items()}


def test_every_audit_event_is_documented():
    assert first_cells(ROOT / "docs" / "how-to" / "export-the-audit-log.md") == list(EVENTS)


def test_every_scope_is_documented():
    text = (REFERENCE / "permissions.md").read_text()
    scopes, default = re.search(r"scopes: (.+) \(default `(.+)`\)", text).groups()
    assert (re.findall(r"`(\w+)`", scopes), default.split(",")) == (list(SCOPES), list(DEFAULT_SCOPES))


def routes(resolver: URLResolver, prefix: str = "/") -> list[str]:
    found: list[str] = []
    for entry in resolver.url_patterns:
        route = prefix + str(entry.pattern)
        if route in {"/favicon.ico", r"/^(?P<address>[\s\S]*)$"}:
            continue
        if isinstance(entry, URLPattern) or route == "/admin/":
            found.append(route)
        else:
            found += routes(entry, route)
    return found


def test_every_address_is_documented():
    documented = first_cells(REFERENCE / "pages.md") + first_cells(REFERENCE / "api.md")
    known = [*routes(get_resolver()), *probes.ADDRESSES]
    assert sorted(cell for cell in documented if "/" in cell) == sorted(known)


def test_every_code_of_a_refusal_is_documented():
    documented = [cell for cell in first_cells(REFERENCE / "api.md") if "/" not in cell]
    assert sorted(documented) == sorted(
        {"csrf"} | {bound.code for bound in BOUNDS} | {refusal.code for refusal in refusals(Refusal)}
    )


def refusals(base: type[Refusal]) -> list[type[Refusal]]:
    return [found for refusal in base.__subclasses__() for found in (refusal, *refusals(refusal))]


def test_every_websocket_is_documented():
    text = (REFERENCE / "pages.md").read_text()
    assert re.findall(r"`(/ws/[^`]+)`", text) == [f"/{entry.pattern}" for entry in [*desk_sockets, *chat_sockets]]


def test_every_sentence_of_the_demo_is_in_the_quick_start():
    text = (ROOT / "docs" / "quick-start.md").read_text()
    assert [c.example for c in SCRIPT if c.example != "approve refund" and f"`{c.example}`" not in text] == []


def test_links_between_documents_lead_to_files():
    patterns = ("*.md", "docs/**/*.md", "examples/*/README.md", "clients/*/README.md", "benchmarks/*.md")
    documents = [path for pattern in patterns for path in ROOT.glob(pattern)]
    links = [(page, target) for page in documents for target in re.findall(r"\]\(([^)#]+)", page.read_text())]
    assert [f"{page.name}: {to}" for page, to in links if "://" not in to and not (page.parent / to).is_file()] == []
    assert len(links) > 150


def test_every_test_of_the_asvs_page_exists_and_lines_without_one_say_why():
    page = (ROOT / "docs" / "security" / "asvs.md").read_text()
    rows = [line.split(" | ") for line in page.splitlines() if re.match(r"\| [67]\.\d", line)]
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", page)
    missing = [name for path, name in named if f"def {name}(" not in (ROOT / "tests" / path).read_text()]
    assert (missing, len(rows), len(named) > 40) == ([], 51, True)
    silent = [row[0] for row in rows if "`" not in row[3] and not row[2].startswith(("not met: ", "does not apply: "))]
    assert silent == []


def test_the_architecture_page_and_the_decisions_name_files_that_exist():
    pages = [ROOT / "docs" / "architecture.md", *(ROOT / "docs" / "decisions").glob("*.md")]
    named = {path for page in pages for path in re.findall(r"`([a-z_]+/[\w/.-]+)`", page.read_text())}
    assert sorted(path for path in named if not (ROOT / path).exists()) == []
    assert len(named) > 20


def test_the_map_of_the_architecture_page_names_every_room():
    text = (ROOT / "docs" / "architecture.md").read_text()
    (drawn,) = re.findall(r"## Map.+?```text\n(.+?)```", text, re.S)
    for app in ("approvals", "chats"):
        (part,) = re.findall(rf"^{app}/.+?(?=^\w)", drawn, re.S | re.M)
        rooms = {path.name for path in (ROOT / app).iterdir() if path.is_dir()}
        rooms -= {"__pycache__", "migrations", "management", "templatetags"}
        assert set(re.findall(r"\b([a-z]+)/", part)) >= rooms, app


def test_every_dependency_is_on_the_architecture_page():
    text = (ROOT / "docs" / "architecture.md").read_text()
    table = text.split("## Dependencies")[1].split("Considered and rejected")[0]
    explained = {name for row in re.findall(r"^\| ([^|]+) \|", table, re.M) for name in row.split(", ")}
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    required = {re.split(r"[^\w.-]", line)[0] for line in lines if line and not line.startswith("#")}
    assert sorted(required - explained) == []


def test_nothing_mentions_the_workplace():
    ours = []
    for folder, folders, names in os.walk(ROOT):
        # Skipped: environments have a hundred thousand files, and built files contain the paths of the build.
        folders[:] = [n for n in folders if not n.startswith((".venv", ".git", "node_modules", "var", "build"))]
        ours += [Path(folder, name) for name in names if name.endswith(WRITTEN)]
    assert [p.name for p in ours if "../" + "shared" in p.read_text() or "/work" + "/" in p.read_text()] == []


def test_every_event_for_apps_is_documented():
    documented = [name for name in first_cells(ROOT / "docs" / "how-to" / "handle-events.md") if "." in name]
    assert documented == list(OUTBOX_EVENTS)


def test_the_examples_in_several_languages_are_those_of_the_clients():
    page = (ROOT / "docs" / "how-to" / "ask-from-any-agent.md").read_text()
    tabs = re.findall(r"^<!-- tabs -->\n(.*?)^<!-- end of tabs -->$", page, re.S | re.M)
    blocks = [block for tab in tabs for block in re.findall(r"^```(python|js)\n(.*?)^```$", tab, re.S | re.M)]
    readmes = {"python": "clients/python/README.md", "js": "clients/javascript/README.md"}
    # A decorated function is only on this page, where the next section explains it.
    own = [code for language, code in blocks if code not in (ROOT / readmes[language]).read_text()]
    assert [code.splitlines()[1] for code in own] == ["def refund(order: str, amount: int) -> str:"]
    assert len(blocks) == 4
