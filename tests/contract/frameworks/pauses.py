"""The table of docs/reference/frameworks-at-a-pause.md, made from what programs have observed of the real packages.

Each `at_a_pause` program runs a framework without Pausepoint and tells codes. They are kept in `at_a_pause.json`, and a test
compares them. With STORE_PAUSES=1, the tests store what they observe instead:

    STORE_PAUSES=1 make contract NAME=langchain

`python -m tests.contract.frameworks.pauses` writes the table of the page anew, and a fast test compares it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.support.root import ROOT

PAGE = ROOT / "docs" / "reference" / "frameworks-at-a-pause.md"
BEGIN = "<!-- made by `python -m tests.contract.frameworks.pauses` -->"
END = "<!-- end -->"
OBSERVED = Path(__file__).with_name("at_a_pause.json")
HEADS = {
    "sibling": "Free call beside it",
    "condition": "Condition asked again",
    "partial": "One of two answered",
    "resumers": "Two processes resume",
    "changed": "Changed input in the history",
    "rejected": "A rejection tells the model",
    "restart": "Survives a restart",
    "id": "Answered by",
}
#: Said in the programs.
WORDS_OF_A_PERSON = "Not today."
WORDS = {
    "sibling": {"before": "runs before the pause", "after": "runs after the answers"},
    "condition": {"again": "**yes**", "once": "no", "none": "no condition"},
    "partial": {
        "refused": "refused, nothing runs",
        "waits": "nothing runs until all are answered",
        "runs and waits": "the answered call runs, the other waits",
        "runs and goes on": "the answered call runs, and **the model goes on**",
        "runs and fails": "the answered call runs, then an error",
        "one": "one question at a time",
    },
    "resumers": {"twice": "**runs twice**", "once": "runs once"},
    "changed": {
        "original": "the model's input",
        "changed": "the changed input",
        "both": "both",
        "none": "cannot be changed",
        "yours": "what your steps store",
    },
    "restart": {
        "messages": "the messages, if you store them",
        "state": "the state, if you store it",
        "checkpoint": "the thread, with a stored checkpointer",
        "session": "the session, if it is stored",
        "context": "the context, if you store it",
        "pending": "the flow, with persistence",
    },
    "id": {
        "call": "the id of the call",
        "same": "an id that a repeated run has, too",
        "new": "an id that is new in each run",
        "run": "the id of the run",
        "none": "nothing, unless you add an id",
    },
}


def rejected(codes: dict[str, str]) -> str:
    """Return in short what the model reads after a rejection."""
    if codes["rejected"] == "yours":
        return "what your steps tell it"
    if codes["words"] == "no":
        return "a fixed text, **no words**"
    return "the person's words" if codes["words"] in (WORDS_OF_A_PERSON, "yes") else "a text with the person's words"


def table(kept: list[dict[str, Any]]) -> list[str]:
    """Return the lines of the table. The name of a framework links to the program that has observed it."""
    lines = [f"| Framework | {' | '.join(HEADS.values())} |", f"|{'---|' * (len(HEADS) + 1)}"]
    for each in kept:
        codes = each["codes"]
        cells = [rejected(codes) if column == "rejected" else WORDS[column][codes[column]] for column in HEADS]
        lines.append(f"| [{each['title']}](../../{each['program']}) {each['version']} | {' | '.join(cells)} |")
    return lines


def texts(kept: list[dict[str, Any]]) -> list[str]:
    """Return what each framework tells the model of a rejection without a person's words."""
    own = [each for each in kept if each["codes"]["rejected"] not in ("yours", WORDS_OF_A_PERSON)]
    return [f"- **{each['title']}**: “{each['codes']['rejected']}”" for each in own]


def page() -> str:
    """Return the page with its table made anew."""
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END)[1]
    observed = json.loads(OBSERVED.read_text()).values()
    kept = sorted(observed, key=lambda each: str(each["title"]).lower())
    lines = [*table(kept), "", "A rejection without a person's words reads:", "", *texts(kept)]
    return "\n".join([f"{before}{BEGIN}", "", *lines, "", f"{END}{after}"])


def check(name: str, title: str, program: Path, observed: dict[str, Any]) -> None:
    """Compare what a program has observed with what is kept of it, or keep it."""
    codes = {code: observed[code] for code in (*HEADS, "words")}
    kept = json.loads(OBSERVED.read_text())
    if "STORE_PAUSES" in os.environ:
        path = program.relative_to(ROOT).as_posix()
        kept[name] = {"title": title, "version": observed["version"], "program": path, "codes": codes}
        OBSERVED.write_text(json.dumps(kept, indent=2, ensure_ascii=False) + "\n")
        return
    assert kept[name]["codes"] == codes, f"{observed['version']}: {kept[name]['version']} was other"


if __name__ == "__main__":
    PAGE.write_text(page())
