"""An agent of smolagents with a scripted model, whose tool has the decorator of the client: `agent.py THREAD`."""

from __future__ import annotations

import runpy
import sys
import tempfile
from pathlib import Path
from typing import Any

import program
from smolagents import ChatMessage, Model

CODE = ["print(refund(order='4711', amount=250))", "final_answer('done')"]


class Scripted(Model):
    """Writes the code, step by step; `read` has the last message that it was given in each."""

    def __init__(self) -> None:
        super().__init__(model_id="scripted")
        self.code = list(CODE)
        self.read: list[str] = []

    def generate(self, messages: list[Any], **_: Any) -> ChatMessage:
        self.read.append(str(messages[-1].content))
        return ChatMessage(role="assistant", content=f"<code>\n{self.code.pop(0)}\n</code>")


model = Scripted()
with tempfile.TemporaryDirectory() as folder:
    # In a file: smolagents reads the source of a tool.
    page = Path(folder) / "page.py"
    page.write_text((program.HOW_TO / "smolagents-and-ag2.md").read_text().split("```python\n")[1].split("```\n")[0])
    runpy.run_path(str(page), {"model": model, "thread_id": sys.argv[1]})
program.tell(model.read[1:])
