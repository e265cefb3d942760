"""The conformance table of docs/reference/protocols.md, made from the tests' marks.

    @pytest.mark.shows("langchain", "approve", "reject")

`lacks` marks a test that shows a missing ability of a protocol, with the reason. `cases` marks the test of all cases of an
adapter.

The tests are read and not imported: those of a framework need its package. `python -m tests.contract.table` writes the
page anew; a test compares it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.support.root import ROOT

PAGE = ROOT / "docs" / "reference" / "protocols.md"
BEGIN, END = "<!-- made by `python -m tests.contract.table` -->", "<!-- end -->"

#: A protocol's abilities by the names in marks, with the head of each column.
ABILITIES = {
    "approve": "approve",
    "edit": "change the input",
    "reject": "reject with a message",
    "answer": "answer a question",
    "expire": "expire",
    "cancel": "cancel",
    "once": "exactly once",
    "crash": "survives a crash",
    "person": "who decided",
}
#: The same for grants, which have a table of their own.
GRANT_ABILITIES = {
    "grant": "give one",
    "unasked": "the next call runs without asking",
    "conversation": "for this conversation only",
    "told": "told that a grant approved it",
    "revoke": "revoke one",
}
#: The same for the policy: results for requesting programs, then the abilities of deciders.
POLICY_ABILITIES = {
    "allowed": "a rule allows",
    "denied": "a rule denies",
    "halted": "the run is stopped",
    "progress": "how the votes stand",
    "vote": "vote",
    "delegate": "decide for someone who is away",
    "advice": "advise",
}

#: In which cases nothing runs unasked, blind or twice through an adapter.
SAFETY_ABILITIES = {
    "readable": "each kind of call is shown as it runs",
    "agents": "sub-agents",
    "names": "no names, or unknown ones",
    "raises": "a tool that raises",
    "pauses": "two pauses at once",
    "together": "two processes",
    "killed": "kill -9 between answer and effect",
    "condition": "a condition that changes",
    "partial": "partial answers",
}
#: The other cases that every adapter has to pass (`tests/contract/frameworks/cases.py`).
CASE_ABILITIES = {
    "denied": "a rule denies",
    "halted": "a deadline stops the run",
    "grant": "a grant approves",
    "siblings": "two gated calls and a free one in a message",
    "no-id": "calls without ids",
    "repeated-id": "repeated ids",
    "away": "the desk is away",
}
#: All cases, which the mark `cases` means.
CASES = (
    "approve",
    "edit",
    "reject",
    "expire",
    "raises",
    "partial",
    "condition",
    "killed",
    "together",
    *CASE_ABILITIES,
)


@dataclass(frozen=True, slots=True)
class Protocol:
    """A row: the name in marks, the displayed name, its page, and reasons for abilities that no test shows."""

    name: str
    title: str
    page: str
    cannot: dict[str, str]


@dataclass(frozen=True, slots=True)
class Shown:
    """A test that shows one ability of one protocol, or with a `reason` that it lacks it, at least in part."""

    protocol: str
    ability: str
    path: Path
    test: str
    reason: str = ""


HOW_TO = "../how-to/"
QUESTIONS_ONLY = "It is for questions. Ask for approvals over REST."
ON_THE_PAGE = (
    "Its clients cannot send another input. A person can change it on the page of the request; the approved input runs."
)
NO_PLACE = "It cannot return a name. The page of the request and the audit log show it."
NO_QUESTIONS = "It has no questions. A tool can ask them with the Python client."
NO_QUESTIONS_JS = "It has no questions. A tool can ask them with the JavaScript client."
ONE_SESSION = "After a crash, it starts a call again with another id, and two processes can continue one session."

NO_HOOK = "It has no hook for questions."
GIVEN_ELSEWHERE = (
    "It can only approve or reject a call. Grants are given and revoked on the pages and over REST; the command line can "
    "also revoke them."
)
NO_RULE = (
    "A hook answers one call. Pausepoint never answers with a rule for the agent (`updatedPermissions`), because later calls "
    "would then run without a request or a record. Instead of “allow for this session”, use a grant for this conversation "
    "(the session of the agent)."
)
NO_WORDS = "It cannot return this. The page of the request and the audit log show it."
PEOPLE_ONLY = "The pages are for deciding; programs ask elsewhere."

ASKS_ONLY = "It is only for asking. People decide on the pages, and programs over REST."
ADVISED_ELSEWHERE = (
    "Programs advise over REST and with the clients. People read advice on the page of the request, and write notes."
)
OWN_CHAT = "The person who decides in the chat is the requester, and requesters cannot decide as someone's delegate."
NO_VOTES = "It is for questions, which rules always ask and one person answers."
NO_STOP = (
    "Codex has no answer that stops a run: it treats `continue: false` as a failed hook and lets the call run, even with a "
    "denial (0.141.0 and 0.169.0). So the call is denied, and the model is told to do nothing more."
)
ASKED_QUESTIONS = {"allowed": NO_VOTES, "denied": NO_VOTES, "progress": NO_VOTES}
ASKS = {"vote": ASKS_ONLY, "delegate": ASKS_ONLY, "advice": ASKS_ONLY}

#: The rows of each table.
GROUPS = {
    "Protocol": [
        Protocol("rest", "REST", HOW_TO + "ask-from-any-agent.md", {}),
        Protocol(
            "ask-human",
            "AgentForge's `askHuman`",
            HOW_TO + "agentforge-events.md",
            {"approve": QUESTIONS_ONLY, "edit": QUESTIONS_ONLY},
        ),
        Protocol("ai-sdk", "AI SDK", HOW_TO + "ai-sdk.md", {"edit": ON_THE_PAGE}),
        Protocol("cedar", "Cedar-OS", HOW_TO + "cedar-os.md", {}),
        Protocol("mcp", "MCP", HOW_TO + "mcp.md", {}),
    ],
    "Client": [
        Protocol("python-client", "Python", "../../clients/python/README.md", {}),
        Protocol("javascript-client", "JavaScript", "../../clients/javascript/README.md", {}),
        Protocol("command", "Command line", HOW_TO + "command-line.md", {}),
    ],
    "Framework": [
        Protocol("langchain", "LangChain, LangGraph", HOW_TO + "langchain.md", {"person": NO_PLACE}),
        Protocol("pydantic-ai", "pydantic-ai", HOW_TO + "pydantic-ai.md", {}),
        Protocol(
            "openai-agents",
            "OpenAI Agents SDK",
            HOW_TO + "openai-agents.md",
            {"answer": NO_QUESTIONS, "person": NO_PLACE},
        ),
        Protocol(
            "claude-agent-sdk",
            "Claude Agent SDK",
            HOW_TO + "claude-agent-sdk.md",
            {"once": ONE_SESSION, "crash": ONE_SESSION, "person": NO_PLACE},
        ),
        Protocol("google-adk", "Google ADK", HOW_TO + "google-adk.md", {"person": NO_PLACE}),
        Protocol("agent-framework", "Microsoft Agent Framework", HOW_TO + "agent-framework.md", {"person": NO_PLACE}),
        Protocol("crewai", "CrewAI", HOW_TO + "crewai.md", {"person": NO_PLACE}),
        Protocol("llamaindex", "LlamaIndex workflows", HOW_TO + "llamaindex.md", {}),
        Protocol("strands", "Strands Agents", HOW_TO + "strands.md", {"person": NO_PLACE}),
        Protocol("agno", "Agno", HOW_TO + "agno.md", {"person": NO_PLACE}),
        Protocol("haystack", "Haystack", HOW_TO + "haystack.md", {"person": NO_PLACE}),
        Protocol("ai-sdk-agents", "AI SDK agents", HOW_TO + "ai-sdk-agents.md", {}),
        Protocol(
            "openai-agents-js",
            "OpenAI Agents SDK for JavaScript",
            HOW_TO + "openai-agents-js.md",
            {"answer": NO_QUESTIONS_JS, "person": NO_PLACE},
        ),
        Protocol(
            "langchain-js", "LangChain, LangGraph for JavaScript", HOW_TO + "langchain-js.md", {"person": NO_PLACE}
        ),
        Protocol("mastra", "Mastra", HOW_TO + "mastra.md", {"person": NO_PLACE}),
        Protocol("genkit", "Genkit", HOW_TO + "genkit.md", {"person": NO_PLACE}),
    ],
    "Coding agent": [
        Protocol("claude-code", "Claude Code", HOW_TO + "claude-code.md", {}),
        Protocol("codex", "Codex", HOW_TO + "codex.md", {"answer": NO_HOOK}),
        Protocol("gemini-cli", "Gemini CLI", HOW_TO + "gemini-cli.md", {"answer": NO_HOOK}),
        Protocol("qwen-code", "Qwen Code", HOW_TO + "qwen-code.md", {"answer": NO_HOOK}),
        Protocol("copilot", "Copilot CLI", HOW_TO + "copilot-cli.md", {"answer": NO_HOOK}),
        Protocol("opencode", "opencode", HOW_TO + "opencode.md", {"answer": NO_HOOK}),
    ],
}

ONE_KIND = "It only asks about functions; no other kind of tool asks."
AT_THE_TOOL = "The tool itself says whether it asks; there is no list of names."
BY_NAME = "It asks based on the name of the tool only, so there is no condition that could change."
BY_STEP = "A step of the workflow asks, so there is no condition that could change."
BY_RULES = "The permission rules of Claude Code determine which calls ask, at the time of the call."
ONE_AFTER_ANOTHER = "It asks about the calls of a message one after the other."
OWN_CALLS = "It runs its calls itself: the adapter answers whether a call may run, and does not see the result."

#: Limits of adapters, by their names.
SAFETY_LIMITS = {
    "langchain": {},
    "pydantic-ai": {"readable": ONE_KIND, "names": AT_THE_TOOL},
    "openai-agents": {"names": AT_THE_TOOL},
    "claude-agent-sdk": {
        "names": AT_THE_TOOL,
        "raises": OWN_CALLS,
        "pauses": ONE_AFTER_ANOTHER,
        "together": ONE_SESSION,
        "killed": ONE_SESSION,
        "condition": BY_RULES,
        "partial": ONE_SESSION,
    },
    "google-adk": {"condition": BY_NAME},
    "agent-framework": {"condition": BY_NAME},
    "crewai": {"readable": ONE_KIND, "condition": BY_NAME},
    "llamaindex": {"readable": ONE_KIND, "names": AT_THE_TOOL, "condition": BY_STEP},
    "strands": {"readable": ONE_KIND, "condition": BY_NAME},
    "agno": {"readable": ONE_KIND, "condition": BY_NAME},
    "haystack": {"readable": ONE_KIND, "condition": BY_NAME},
    "ai-sdk-agents": {"readable": ONE_KIND, "condition": BY_NAME},
    "openai-agents-js": {"names": AT_THE_TOOL},
    "langchain-js": {"readable": ONE_KIND, "condition": BY_NAME},
    "mastra": {"readable": ONE_KIND, "condition": BY_NAME},
    "genkit": {"readable": ONE_KIND, "condition": BY_NAME},
}
#: The rows of the table of safety.
SAFETY = [replace(each, cannot=SAFETY_LIMITS[each.name]) for each in GROUPS["Framework"]]

PLAYED = (
    "Claude Code makes the calls itself. The adapter answers whether one may run, and is not tested with this case."
)
#: The rows of the table of cases.
CASES_ROWS = [
    replace(
        each,
        cannot=dict.fromkeys(set(CASE_ABILITIES) - {"halted"}, PLAYED) if each.name == "claude-agent-sdk" else {},
    )
    for each in GROUPS["Framework"]
]

#: The rows of the table of grants.
GRANTS = [
    Protocol("pages", "Pages", HOW_TO + "approve-for-an-hour.md", {"unasked": PEOPLE_ONLY}),
    Protocol("rest", "REST", "api.md", {}),
    Protocol(
        "ai-sdk",
        "AI SDK",
        HOW_TO + "ai-sdk.md",
        {"grant": GIVEN_ELSEWHERE, "told": NO_WORDS, "revoke": GIVEN_ELSEWHERE},
    ),
    Protocol(
        "cedar",
        "Cedar-OS",
        HOW_TO + "cedar-os.md",
        {"grant": GIVEN_ELSEWHERE, "told": NO_WORDS, "revoke": GIVEN_ELSEWHERE},
    ),
    Protocol(
        "mcp",
        "MCP",
        HOW_TO + "mcp.md",
        {"grant": GIVEN_ELSEWHERE, "revoke": GIVEN_ELSEWHERE},
    ),
    Protocol("claude-code", "Claude Code", HOW_TO + "claude-code.md", {"grant": NO_RULE, "revoke": GIVEN_ELSEWHERE}),
    Protocol("codex", "Codex", HOW_TO + "codex.md", {"grant": NO_RULE, "revoke": GIVEN_ELSEWHERE}),
]

#: The rows of the table of the policy.
POLICY = [
    Protocol(
        "pages",
        "Pages",
        "policy.md",
        {"allowed": PEOPLE_ONLY, "denied": PEOPLE_ONLY, "halted": PEOPLE_ONLY, "advice": ADVISED_ELSEWHERE},
    ),
    Protocol("rest", "REST", "api.md", {}),
    Protocol("ask-human", "AgentForge's `askHuman`", HOW_TO + "agentforge-events.md", ASKED_QUESTIONS | ASKS),
    Protocol("ai-sdk", "AI SDK", HOW_TO + "ai-sdk.md", {"delegate": OWN_CHAT, "advice": ADVISED_ELSEWHERE}),
    Protocol("cedar", "Cedar-OS", HOW_TO + "cedar-os.md", {"delegate": OWN_CHAT, "advice": ADVISED_ELSEWHERE}),
    Protocol("mcp", "MCP", HOW_TO + "mcp.md", ASKS),
    Protocol("claude-code", "Claude Code", HOW_TO + "claude-code.md", ASKS),
    Protocol("codex", "Codex", HOW_TO + "codex.md", ASKS | {"halted": NO_STOP}),
    Protocol("python-client", "Python", "../../clients/python/README.md", {}),
    Protocol("javascript-client", "JavaScript", "../../clients/javascript/README.md", {}),
    Protocol("command", "Command line", HOW_TO + "command-line.md", {"advice": ADVISED_ELSEWHERE}),
]
Table = tuple[str, Sequence[Protocol], Mapping[str, str]]
#: Each group of rows with its columns.
TABLES: Sequence[Table] = [
    *((title, rows, ABILITIES) for title, rows in GROUPS.items()),
    ("Safety", SAFETY, SAFETY_ABILITIES),
    ("Cases", CASES_ROWS, CASE_ABILITIES),
    ("Grants", GRANTS, GRANT_ABILITIES),
    ("Policy", POLICY, POLICY_ABILITIES),
]


def marks(path: Path) -> Iterator[Shown]:
    """Yield the marks of a file's tests."""
    source = path.read_text()
    if not any(f"pytest.mark.{mark}" in source for mark in ("shows", "lacks", "cases")):
        return
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for mark in node.decorator_list:
            if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.shows":
                protocol, *abilities = (ast.literal_eval(word) for word in mark.args)
                yield from (Shown(protocol, ability, path, node.name) for ability in abilities)
            elif isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.lacks":
                protocol, ability, reason = (ast.literal_eval(word) for word in mark.args)
                yield Shown(protocol, ability, path, node.name, reason)
            elif isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.cases":
                without = [word for keyword in mark.keywords for word in ast.literal_eval(keyword.value)]
                protocol = ast.literal_eval(mark.args[0])
                yield from (Shown(protocol, case, path, node.name) for case in CASES if case not in without)


def shown() -> list[Shown]:
    """Return everything that the tests show, in the order of their files."""
    return [found for path in sorted((ROOT / "tests").rglob("test_*.py")) for found in marks(path)]


def table(tables: Sequence[Table], found: list[Shown]) -> str:
    """Return the tables, one for each group, and the notes below them. A cell without test and reason is empty."""
    tests: dict[tuple[str, str], list[Shown]] = {}
    for each in found:
        tests.setdefault((each.protocol, each.ability), []).append(each)
    notes: list[str] = []
    parts = []
    for title, protocols, abilities in tables:
        heads = [title, *abilities.values(), "shown by"]
        rows = [f"| {' | '.join(heads)} |", "|---" + "|:---:" * len(abilities) + "|---|"]
        for protocol in protocols:
            cells = [_cell(protocol, ability, tests.get((protocol.name, ability), []), notes) for ability in abilities]
            files = _files(protocol, abilities, tests)
            rows.append(f"| [{protocol.title}]({protocol.page}) | {' | '.join(cells)} | {files} |")
        parts.append("\n".join(rows))
    parts.append("\n".join(f"{number}. {note}" for number, note in enumerate(notes, 1)))
    return "\n\n".join(parts)


def _cell(protocol: Protocol, ability: str, tests: list[Shown], notes: list[str]) -> str:
    shows = any(not test.reason for test in tests)
    reasons = [test.reason for test in tests if test.reason]
    if not shows and not reasons and (reason := protocol.cannot.get(ability)):
        reasons = [reason]
    notes.extend(reason for reason in dict.fromkeys(reasons) if reason not in notes)
    numbers = ", ".join(str(notes.index(reason) + 1) for reason in reasons)
    if shows:
        return f"✓, but ({numbers})" if reasons else "✓"
    return f"no ({numbers})" if reasons else ""


def _files(protocol: Protocol, abilities: Iterable[str], tests: dict[tuple[str, str], list[Shown]]) -> str:
    """Return links to the files with the first test of each cell of a row."""
    found = (tests.get((protocol.name, ability)) for ability in abilities)
    paths = dict.fromkeys(each[0].path for each in found if each)
    return ", ".join(f"[{path.stem}](../../{path.relative_to(ROOT).as_posix()})" for path in paths)


def page() -> str:
    """Return the page with its tables made anew."""
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{table(TABLES, shown())}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page())
