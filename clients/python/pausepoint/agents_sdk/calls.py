"""The calls of a run that people are asked about."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from agents import Agent, Runner, RunResult, RunResultStreaming, RunState
from agents.items import ToolApprovalItem

from pausepoint import calls, gate
from pausepoint.agents_sdk.hooks import watch_agent, watching
from pausepoint.agents_sdk.items import HOSTED, SILENT, call_of, raw_item
from pausepoint.calls import Unreadable
from pausepoint.gate import AnyDesk, Ruling, Wanted

#: Reported for a call whose run ended before the SDK revealed its result.
UNFINISHED = (
    "The run ended before the result of this call was known, so it may have run."
)


class Unfinished(Exception):
    """The result of an approved call is unknown, so it must not run again on the same approval."""


def rule(state: RunState[Any, Any], item: ToolApprovalItem, refused: str) -> None:
    if refused:
        state.reject(item, rejection_message=refused)
    else:
        state.approve(item)


class RunCalls:
    """The calls of one run that people were asked about. A stored run holds the leases of its calls, so it claims none."""

    def __init__(self, desk: AnyDesk, thread_id: str, *, claims: bool = True) -> None:
        self.desk, self.thread_id, self.claims = desk, thread_id, claims
        #: Running calls, by the id of the call.
        self.approved: dict[str, Ruling] = {}
        #: Calls approved with changes and not made yet.
        self.changed: list[tuple[str, Ruling]] = []
        #: The ids of the calls that are running now.
        self.running: set[str] = set()
        #: The ids of approved calls that hooks do not see, with the names of their tools; None if the provider runs it.
        self.silent: dict[str, str | None] = {}
        #: The names of the tools that have begun a call without an id.
        self.begun: set[str] = set()

    async def run(
        self, agent: Agent[Any], input: Any, run: Mapping[str, Any]
    ) -> RunResult:
        """Run the agent until it pauses or ends, and report the calls that ran."""
        try:
            with watching(self):
                result: RunResult = await Runner.run(agent, input, **run)
        except (Exception, asyncio.CancelledError) as error:
            await self.failed(error)
            raise
        await self.report(result)
        return result

    async def decided(
        self, result: RunResult | RunResultStreaming, extra: Mapping[str, Any]
    ) -> RunState[Any, Any]:
        """Return the state for continuing a run, with the decisions about all its interruptions."""
        state: RunState[Any, Any] = result.to_state()
        items = state.get_interruptions()
        rulings = await asyncio.gather(*(self._ask(item, extra) for item in items))
        # Only now: a call that waits for the decision about another one does not run.
        for item, ruling in zip(items, rulings, strict=True):
            rule(state, item, await self.refusal(item, ruling, extra))
        return state

    async def _ask(
        self, item: ToolApprovalItem, extra: Mapping[str, Any]
    ) -> Ruling | str:
        return self.known(item) or await gate.adecided(
            self.desk, self.wanted(item, extra)
        )

    def known(self, item: ToolApprovalItem) -> Ruling | str | None:
        """Return the ruling on a call that needs no new request: the approval of exactly this call after changes by people (each
        counts once), or the text for the model if people cannot read the call.
        """
        try:
            call = call_of(item, self.thread_id)
        except Unreadable as error:
            return str(error)
        for name, ruling in self.changed:
            if name == call.name and calls.same_input(ruling.input, call.input):
                self.changed.remove((name, ruling))
                return ruling
        return None

    async def refusal(
        self, item: ToolApprovalItem, ruling: Ruling | str, extra: Mapping[str, Any]
    ) -> str:
        """Return the text for the model if the call may not run, otherwise an empty one."""
        if isinstance(ruling, str):
            return ruling
        call = call_of(item, self.thread_id)
        if self.claims and calls.same_input(ruling.input, call.input):
            ruling = await gate.aclaimed(self.desk, ruling, extra)
        if not ruling.runs:
            known = ruling.outcome.result
            return (
                ruling.text
                if known is None
                else ruling.noted(calls.known_result(known))
            )
        if not calls.same_input(ruling.input, call.input):
            # The SDK cannot change the input of a call.
            await gate.arelease(self.desk, ruling)
            self.changed.append((call.name, ruling))
            return f"{ruling.note} It was not run. Make the call again with exactly this input."
        self._approve(item, ruling)
        return ""

    def _approve(self, item: ToolApprovalItem, ruling: Ruling) -> None:
        call_id = item.call_id or ""
        self.approved[call_id] = ruling
        kind = raw_item(item).get("type")
        if kind == HOSTED:
            self.silent[call_id] = None
        elif kind in SILENT:
            self.silent[call_id] = item.name
        # It may belong to an agent that is a tool of another one, whose runs have hooks of their own.
        watch_agent(item.agent)

    async def report(self, result: RunResult | RunResultStreaming) -> None:
        """Report the outputs of approved calls that no hook has seen."""
        for item in result.new_items:
            if item.type == "tool_call_output_item":
                raw, output = raw_item(item), item.output
                failed = raw.get("status") == "failed"
                await self.ended(
                    str(raw.get("call_id")),
                    output,
                    RuntimeError(str(output)) if failed else None,
                )
            elif (
                item.type == "tool_call_item"
                and (raw := raw_item(item)).get("type") == "mcp_call"
            ):
                error = RuntimeError(str(raw["error"])) if raw.get("error") else None
                await self.ended(
                    str(raw.get("approval_request_id")), raw.get("output"), error
                )

    def began(self, call_id: str, name: str) -> None:
        """Note that a tool is running; its call has no id where the SDK does not reveal it."""
        if call_id:
            self.running.add(call_id)
        else:
            self.begun.add(name)

    async def ended(
        self, call_id: str, output: Any, error: BaseException | None = None
    ) -> None:
        """Report the result of a call, if it was approved and not reported yet."""
        self.running.discard(call_id)
        self.silent.pop(call_id, None)
        if ruling := self.approved.pop(call_id, None):
            await gate.aended(self.desk, ruling, output=output, error=error)

    async def failed(self, error: BaseException) -> None:
        """Report the error that ended the run for the tools that it ended, and release calls that have not begun. If several
        tools were running, it is unknown which one raised it.
        """
        for call_id, name in list(self.silent.items()):
            if name is None or name in self.begun:
                await self.ended(call_id, None, Unfinished(UNFINISHED))
        for call_id in self.approved.keys() - self.running:
            await gate.arelease(self.desk, self.approved.pop(call_id))
        stopped, alone = not isinstance(error, Exception), len(self.running) == 1
        for call_id in list(self.running):
            if stopped or alone:
                await self.ended(
                    call_id, None, error if stopped else error.__cause__ or error
                )
            elif (ruling := self.approved.pop(call_id, None)) and ruling.lease:
                ruling.lease.stop()

    def wanted(self, item: ToolApprovalItem, extra: Mapping[str, Any]) -> Wanted:
        # Tools of several namespaces may have the same name.
        tools = [
            tool for tool in item.agent.tools if item.name and tool.name == item.name
        ]
        schema = (
            getattr(tools[0], "params_json_schema", None) if len(tools) == 1 else None
        )
        return Wanted(
            call_of(item, self.thread_id), question=False, extra=extra, schema=schema
        )
