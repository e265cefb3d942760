"""The message of a request for a relay: plain text, the answers that one person may give, and no more than it may carry."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.actions.checking import AnswerFacts, needs_reason
from approvals.asking.answers import Answer
from approvals.channels.content import CardContent, content_of, ending_of, hidden
from approvals.forms.decision import answer_form, wants_json
from approvals.json_types import JsonDict
from approvals.models import ApprovalRequest, Relay
from approvals.queries.policy.votes.ballots import ballots_of
from approvals.queries.preferences import reason_rules
from approvals.states import ASKS, Kind, Priority, Verdict


@dataclass(frozen=True, slots=True)
class RelayContent:
    """A message for one person: its title, its text, and the answers that the person may give."""

    title: str
    text: str
    answers: Sequence[JsonDict]

    @property
    def look(self) -> str:
        shown = [self.title, self.text, list(self.answers)]
        return hashlib.sha256(json.dumps(shown).encode()).hexdigest()

    @property
    def verdicts(self) -> list[str]:
        return [answer_key(answer) for answer in self.answers]


def answer_key(answer: JsonDict) -> str:
    """Return the name of an answer among those that a token may give: `approve`, `reject`, `respond` or `respond:2`."""
    option = answer.get("option")
    return answer["verdict"] if option is None else f"{answer['verdict']}:{option}"


def carries(relay: Relay, request: ApprovalRequest) -> bool:
    """Return whether a relay may carry the content of a request. As in scopes, a missing amount is over every amount."""
    within = relay.up_to is None or (
        request.amount is not None and abs(request.amount) <= relay.up_to
    )
    guarded = permissions.only_on_own_pages(request) or permissions.needs_fresh_sign_in(
        request
    )
    return within and not guarded and request.priority != Priority.CRITICAL


def message_of(
    relay: Relay, request: ApprovalRequest, reader: Standing
) -> RelayContent:
    """Return the message about a request for this reader, in the active language."""
    if not carries(relay, request):
        about = _("Its content is not sent to this chat.")
        ending = "" if request.pending else ending_of(request)
        content = CardContent(title=_("Request"), parts=(), about=about, ending=ending)
    else:
        content = content_of(request, relay.shows)
        if not permissions.may_see(reader, request):
            content = hidden(content)
    answers = _answers(request, content, reader)
    lines = [*content.parts, content.about, content.votes, content.ending]
    if request.pending and not answers:
        lines.append(_("Open it in Pausepoint to answer."))
    return RelayContent(content.title, "\n".join(filter(None, lines)), answers)


def _answers(
    request: ApprovalRequest, content: CardContent, reader: Standing
) -> list[JsonDict]:
    if not content.answers or not permissions.may_close(reader, request):
        return []
    ballot = ballots_of([request], [reader]).get(request.pk)
    if ballot is not None and not ballot.admits(reader):
        return []
    rules = reason_rules({request.tool_name})
    known = AnswerFacts(reason_required=rules.apply_to(request))
    reject = Answer(Verdict.REJECT)
    required = needs_reason(request, reject, known)
    answers: list[JsonDict] = []
    if "approve" in content.answers:
        needed = "required" if content.needs_message else "optional"
        answers.append(_offered(Verdict.APPROVE, _("Approve"), needed))
    if "option" in content.answers:
        for number, label in enumerate(content.options):
            offered = _offered(Verdict.RESPOND, label, "none")
            answers.append(offered | {"option": number})
    if "answer" in content.answers and _takes_text(request):
        answers.append(_offered(Verdict.RESPOND, _("Answer"), "required"))
    label = _("Decline") if request.kind in ASKS else _("Reject")
    needed = "required" if required else "optional"
    return [*answers, _offered(Verdict.REJECT, label, needed)]


def _offered(verdict: Verdict, label: str, message: str) -> dict[str, Any]:
    return {"verdict": verdict.value, "label": label, "message": message}


def _takes_text(request: ApprovalRequest) -> bool:
    """Return whether a question takes any text as its answer."""
    fields = answer_form(request) is not None or wants_json(request)
    text = not request.options or request.allow_text
    return request.kind == Kind.QUESTION and text and not fields
