"""The content of a card of a request in any channel, as plain text, and the answers that it offers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from approvals.access.permissions import needs_fresh_sign_in, only_on_own_pages
from approvals.asking.answers import ABSENT
from approvals.asking.secrets import ShownContent, shown_content
from approvals.db.json_pointer import value_at
from approvals.forms.shown_calls import ShownInput, shown_input
from approvals.models import ApprovalRequest
from approvals.models.channels import Shows
from approvals.policy.terms import MessageRule, terms_of
from approvals.queries.policy.grants.grant_case import bar_of_waiting
from approvals.queries.policy.votes.ballots import ballot_of
from approvals.queries.preferences import settings_of_tools
from approvals.queries.results import ShownResult
from approvals.states import ASKS, Kind, Priority, outcome_label, via_label
from approvals.text.names import marked_name
from approvals.text.secrets import hidden_in, mask_text
from approvals.text.tables import TableRow
from approvals.text.text import in_one_line, normalize_newlines, visible

#: Characters of a title, of a part, and of all parts. A card that would be longer shows the beginning, and no buttons.
MAX_TITLE = 150
MAX_PART = 2_900
MAX_ALL = 9_000
#: Options that are buttons of their own.
MAX_OPTIONS = 5
MAX_BUTTON = 75


@dataclass(frozen=True, slots=True, kw_only=True)
class CardContent:
    """A card in words. `parts` are texts that no one may read as markup; `whole`: they show everything that is approved.

    `answers` are the offered ones: `approve`, `grant`, `edit`, `reject`, `answer` and `option`. `needs_message`: approving needs
    one. `ending` says how the request ended.
    """

    title: str
    parts: Sequence[str]
    about: str
    votes: str = ""
    whole: bool = False
    answers: Sequence[str] = ()
    options: Sequence[str] = ()
    needs_message: bool = False
    ending: str = ""


def content_of(request: ApprovalRequest, shows: str) -> CardContent:
    """Return the content of a card that shows this much of a request."""
    shown = shown_content(request)
    texts = _texts(request, shown, shows)
    parts = _chunks(texts.lines)
    title = in_one_line(visible(shown.title)) or _("Request")
    whole = texts.whole and len(title) <= MAX_TITLE and parts is not None
    ballot = ballot_of(request) if request.pending else None
    options = [str(option["label"]) for option in shown.options]
    return CardContent(
        title=cut(title, MAX_TITLE),
        parts=[cut("\n".join(texts.lines), MAX_PART)] if parts is None else parts,
        about=_about(request),
        votes=_("Votes: %(progress)s") % {"progress": ballot.words} if ballot else "",
        whole=whole,
        answers=_answers(request, shown) if whole else (),
        options=options,
        needs_message=terms_of(request.terms).reason == MessageRule.ALWAYS,
        ending="" if request.pending else ending_of(request),
    )


def hidden(content: CardContent) -> CardContent:
    """Return a card that shows nothing but how its request ended."""
    words = _("Its content is hidden, because not everyone here may see it any more.")
    return CardContent(title=_("Request"), parts=(), about=words, ending=content.ending)


def ending_of(request: ApprovalRequest) -> str:
    """Return how a request ended, in words."""
    decision = request.decision
    values = {
        "verdict": outcome_label(request, decision),
        "who": marked_name(decision.by_name) or "Pausepoint",
        "at": f"{decision.decided_at:%Y-%m-%d %H:%M}",
        "via": via_label(decision.via),
    }
    return _("%(verdict)s by %(who)s, %(at)s UTC, via %(via)s") % values


def result_words(result: ShownResult) -> str:
    """Return what ran after an approval, in words."""
    if not result.ran:
        return _("It did not run: %(state)s.") % {"state": result.state_label}
    if result.exact:
        return _("Ran exactly what was approved: %(state)s.") % {
            "state": result.state_label
        }
    if result.exact is False:
        return _("Something else ran than what was approved. Open the request.")
    return _("It ran: %(state)s.") % {"state": result.state_label}


def cut(text: str, most: int) -> str:
    """Return the text, or its beginning with “…” if it is longer than `most`."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


@dataclass(frozen=True, slots=True)
class _Texts:
    lines: Sequence[str]
    whole: bool


def _texts(request: ApprovalRequest, shown: ShownContent, shows: str) -> _Texts:
    if shows == Shows.TITLE:
        return _Texts((), whole=False)
    if shows == Shows.FIELDS:
        return _Texts(list(_key_fields(request, shown)), whole=False)
    card = shown_input(shown)
    values = (shown.title, shown.input, shown.message, shown.context, shown.options)
    masked = (
        any(True for _each in hidden_in(values))
        or bool(request.secrets)
        or mask_text(request.title) != request.title
    )
    unseen = any(True for _each in card.unseen(card.open_places()))
    whole = not (masked or unseen or card.files or card.diffs or card.left_out)
    return _Texts(list(_all_lines(shown, card)), whole=whole)


def _key_fields(request: ApprovalRequest, shown: ShownContent) -> Iterator[str]:
    settings = settings_of_tools([request.tool_name]).get(request.tool_name)
    for pointer in settings.key_fields if settings else ():
        value = value_at(shown.input, pointer)
        if value is not ABSENT and not isinstance(value, dict | list):
            yield _line(pointer.rpartition("/")[2], visible(str(value)))


def _all_lines(request: ShownContent, card: ShownInput) -> Iterator[str]:
    if card.message is not None:
        yield _line("", visible(card.message.text))
    if request.tool_name:
        yield _line(_("Tool"), visible(request.tool_name))
    if card.directory:
        yield _line(_("Directory"), card.directory)
    if card.file:
        yield _line(_("File"), card.file)
    if card.value is not None:
        yield from _row_lines([card.value], "")
    if request.kind not in ASKS:
        yield from _row_lines(card.rows, "")
    yield from _row_lines(card.context, "")
    for number, option in enumerate(request.options, 1):
        label = f"{number}. {in_one_line(visible(str(option['label'])))}"
        described = visible(str(option.get("description") or ""))
        yield _line(label, described) if described else label


def _row_lines(rows: Sequence[TableRow], before: str) -> Iterator[str]:
    """Yield each value of a table on a line of its own, under the names that lead to it."""
    for row in rows:
        name = f"{before} > {row.name}" if before and row.name else row.name or before
        if row.columns:
            for number, line in enumerate([*row.rows, *row.more], 1):
                for column, cell in zip(row.columns, line.cells, strict=False):
                    yield _line(f"{name} {number} > {column}", cell.value)
        elif row.rows:
            yield from _row_lines([*row.rows, *row.more], name)
        else:
            noted = f" ({row.note})" if row.note else ""
            yield _line(name, f"{row.folded or row.value}{noted}")


def _line(name: str, value: str) -> str:
    """Return a value under its name. Each line of a longer value is quoted, so that none can pass for another value."""
    lines = normalize_newlines(value).split("\n")
    if len(lines) == 1:
        return f"{name}: {value}" if name else value
    quoted = [f"| {line}" for line in lines]
    return "\n".join([f"{name}:", *quoted] if name else quoted)


def _chunks(lines: Sequence[str]) -> list[str] | None:
    """Return the lines as parts of a card; None if they are too long for one."""
    if any(len(line) > MAX_PART for line in lines):
        return None
    if sum(map(len, lines)) + len(lines) > MAX_ALL:
        return None
    parts: list[str] = []
    for line in lines:
        if parts and len(parts[-1]) + 1 + len(line) <= MAX_PART:
            parts[-1] += f"\n{line}"
        else:
            parts.append(line)
    return parts


def _about(request: ApprovalRequest) -> str:
    facts: list[Any] = [_("Asked by %(name)s") % {"name": _asker(request)}]
    if request.priority in {Priority.HIGH, Priority.CRITICAL}:
        facts.append(
            _("Priority: %(name)s") % {"name": Priority(request.priority).label}
        )
    if request.pending and request.deadline_at is not None:
        at = f"{request.deadline_at:%Y-%m-%d %H:%M}"
        facts.append(_("Deadline: %(at)s UTC") % {"at": at})
    return " · ".join(facts)


def _asker(request: ApprovalRequest) -> str:
    agent = in_one_line(visible(request.workflow.agent))
    return agent or marked_name(request.requested_by.get_username())


def _answers(request: ApprovalRequest, shown: ShownContent) -> list[str]:
    """Return the answers that a card may offer which shows the whole request."""
    opened = only_on_own_pages(request) or needs_fresh_sign_in(request)
    if not request.pending or opened:
        return []
    if request.kind == Kind.APPROVAL:
        grant = [] if bar_of_waiting(request) else ["grant"]
        return ["approve", *grant, "edit", "reject"]
    labels = [str(option["label"]) for option in shown.options]
    choice = labels and not request.multiple and len(labels) <= MAX_OPTIONS
    buttons = choice and all(len(visible(label)) <= MAX_BUTTON for label in labels)
    if buttons and not request.allow_text:
        return ["option", "reject"]
    return ["option", "answer", "reject"] if buttons else ["answer", "reject"]
