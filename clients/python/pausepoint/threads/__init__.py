"""Stored LangGraph threads: ask their pending questions, and resume each pause in one process only."""

from pausepoint.threads.resuming import aresume_from_desk, resume_from_desk
from pausepoint.threads.steps import CannotGoOn, RanRejected
from pausepoint.threads.tool_guard import Blocked

__all__ = [
    "Blocked",
    "CannotGoOn",
    "RanRejected",
    "aresume_from_desk",
    "resume_from_desk",
]
