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
    """Return what the model reads after a rejection, first without a person's words, then with them."""
    if codes["rejected"] == "yours":
        return "what your steps tell it"
    if codes["rejected"] == WORDS_OF_A_PERSON:
        return "the person's words"
    words = codes["words"].replace(WORDS_OF_A_PERSON, "…")
    default = f"“{codes['rejected']}”"
    if words == "no":
        return f"{default} and no words"
    return f"{default}, or the person's words" if words == "…" else f"{default}, or “{words}”"


def rows() -> list[str]:
    """Return the rows of the table."""
    lines = [f"| Framework | {' | '.join(HEADS.values())} | Observed by |", "|---" * (len(HEADS) + 2) + "|"]
    kept = json.loads(OBSERVED.read_text()).values()
    for each in sorted(kept, key=lambda each: str(each["title"]).lower()):
        codes = each["codes"]
        cells = [rejected(codes) if column == "rejected" else WORDS[column][codes[column]] for column in HEADS]
        program = Path(each["program"])
        name = program.parent.name if program.stem == "at_a_pause" else program.stem
        link = f"[{name}](../../{program.as_posix()})"
        lines.append(f"| **{each['title']}** {each['version']} | {' | '.join(cells)} | {link} |")
    return lines


def page() -> str:
    """Return the page with its table made anew."""
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END)[1]
    table = "\n".join(rows())
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"


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
