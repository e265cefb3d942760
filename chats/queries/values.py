"""A step and a call as values: what is stored of them, with the decisions about them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from chats.queries.remarks import BROKEN_OFF, STOPPED_ANSWER, Remark, remarks_on

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallView:
    """A tool call with the decision about it.

    `approval_id` is the id of its approval request, or "", and `request_id` that of the request that it made of any kind.
    `approved` is None until someone decides; `edited_input` is the input as a person changed it, or None, and
    `approved_digest` is that of the input that may run. `by_rule` says that a rule of the policy decided. `declined` means
    that a person declined to answer; `error_text` then holds their comment. `decided` says that the request about the call
    has ended: of a call whose outcome is unknown, the recovery. `attempt` counts the runs and fences the result of each.
    """

    tool_call_id: str
    name: str
    input: Any
    state: str
    output: Any = None
    error_text: str = ""
    approval_id: str = ""
    approved: bool | None = None
    reason: str = ""
    edited_input: Any = None
    declined: bool = False
    decided: bool = False
    request_id: str = ""
    recovery_id: str = ""
    approved_digest: str = ""
    #: The salt in it (`approvals.db.input_digest`); None for a request from before there were salts.
    digest_salt: str | None = ""
    by_rule: bool = False
    executed_digest: str = ""
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class StepView:
    """A step: the blocks as the model returned them, its calls, and the provider and model that made it.

    `prefix` is what the provider wants to know when the answer is sent back to it. `made` holds what was made of the step, so
    that it is made once for as long as a runner knows the step; `replace` makes a step without.
    """

    blocks: Sequence[dict[str, Any]]
    calls: Sequence[CallView] = ()
    provider: str = ""
    model: str = ""
    prefix: str = ""
    stop_reason: str = ""
    stop_details: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, int] = field(default_factory=dict)
    answered_by: Mapping[str, str] = field(default_factory=dict)
    made: dict[str, Any] = field(default_factory=dict, init=False, compare=False, repr=False)

    def once(self, name: str, make: Callable[[StepView], T]) -> T:
        """Return what `make`, a pure function of this name, makes of the step."""
        if name not in self.made:
            self.made[name] = make(self)
        made: T = self.made[name]
        return made

    @property
    def is_shown(self) -> bool:
        """Whether there is anything of the answer. One that was not finished may only have been paid for."""
        return bool(self.blocks) or self.stop_reason not in {BROKEN_OFF, STOPPED_ANSWER}

    @property
    def container(self) -> str:
        """Where the provider ran code for the answer, if it says so."""
        return self.answered_by.get("container", "")

    @property
    def remarks(self) -> list[Remark]:
        """What is said of the answer beside its words."""
        return remarks_on(self.stop_reason, self.stop_details)
