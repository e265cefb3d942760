"""A stored thread of LangChain with a fake model: `stored.py THREAD FOLDER begin|resume HOW_MANY`."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import program
import resumers
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from model import Model
from pausepoint import AsyncDesk, Desk
from pausepoint.langchain import aresume_from_desk
from resumers import LEASE, MODE, THREAD

CONFIG = {"configurable": {"thread_id": THREAD}}
FILE = str(resumers.FOLDER / "threads.sqlite3")


def wanted(name: str, args: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "args": args, "id": f"{THREAD}-{name}"}


def names_of_the_page(saver: Any, desk: Any) -> dict[str, Any]:
    calls = [
        wanted("refund", program.REFUND),
        wanted("drop", program.DROP),
        wanted("ask_human", program.QUESTION),
    ]
    asks = [AIMessage("", tool_calls=calls)] if MODE == "begin" else []
    return program.run_page(
        "langchain.md",
        {
            "model": Model(messages=iter([*asks, AIMessage("done")])),
            "tools": [tool(resumers.refund), tool(resumers.drop), tool(program.ask_human)],
            "desk": desk,
            "checkpointer": saver,
        },
    )


def told(found: Any) -> dict[str, Any]:
    return {"status": found.status, "by": found.by, "ran": found.output is not None, **last_words(found.output)}


def last_words(output: Any) -> dict[str, Any]:
    if output is None:
        return {}
    tools = {one.name: [one.status, one.content] for one in output["messages"] if one.type == "tool"}
    return {"messages": tools, "last": output["messages"][-1].content}


def go_on(place: int) -> dict[str, Any]:
    with SqliteSaver.from_conn_string(FILE) as saver, Desk() as desk:
        names = names_of_the_page(saver, desk)
        if LEASE == 60:
            return told(resumers.until_free(lambda: names["go_on"](THREAD)))
        return told(names["resume_from_desk"](names["graph"], desk, CONFIG, lease=LEASE))


async def go_on_a_loop() -> dict[str, Any]:
    async with AsyncSqliteSaver.from_conn_string(FILE) as saver, AsyncDesk() as desk:
        return told(await aresume_from_desk(names_of_the_page(saver, desk)["graph"], desk, CONFIG))


if MODE == "begin":
    with SqliteSaver.from_conn_string(FILE) as saver, Desk() as desk:
        graph = names_of_the_page(saver, desk)["graph"]
        if not graph.get_state(CONFIG).created_at:
            graph.invoke({"messages": [("user", "refund 4711")]}, CONFIG)
    first = asyncio.run(go_on_a_loop()) if "LOOP" in os.environ else go_on(0)
    program.tell(**first)
elif "LOOP" in os.environ:
    program.tell(found=[asyncio.run(go_on_a_loop())])
else:
    resumers.resume_together(go_on)
