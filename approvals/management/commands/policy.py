"""`manage.py policy`: show the live policy; check, compare and apply a policy file."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management import CommandError
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from approvals.actions.policy import write_policy
from approvals.exceptions import Invalid, Refusal
from approvals.management.refusing import RefusingCommand
from approvals.models import PolicyVersion
from approvals.policy.policies import InvalidPolicy, policy_of, stored_form
from approvals.policy.policy_text import difference, line_of, read_text, write_text
from approvals.policy.words import otherwise_in_words
from approvals.queries.policy.rules.policy_versions import (
    EMPTY,
    directory_of,
    find_version,
    live_version,
    rules_in_words,
    written,
)
from approvals.states import Door
from approvals.text.text import visible
from approvals.text.translation import translated


class Command(RefusingCommand):
    help = gettext_noop(
        "Manage the policy in files: show the live policy, check a file without changing anything, compare it"
        " with the live policy, or apply it."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        show = actions.add_parser(
            "show", help=_("print the live policy, or another version")
        )
        show.add_argument("--number", type=int, help=_("which version"))
        show.add_argument(
            "--words",
            action="store_true",
            help=_("print its rules in sentences, not as JSON"),
        )
        for name, text in (
            ("check", _("report every error in a file with its line")),
            (
                "diff",
                _("show what a file changes; exits with code 1 if it changes anything"),
            ),
            ("apply", _("make a file the live policy")),
        ):
            action = actions.add_parser(name, help=text)
            action.add_argument("file", help=_("the file, or - for standard input"))
            if name == "apply":
                action.add_argument(
                    "--by",
                    required=True,
                    help=_("the username of the administrator who applies it"),
                )
                action.add_argument(
                    "--reason", required=True, help=_("the reason, for the record")
                )
                action.add_argument(
                    "--based-on",
                    type=int,
                    help=_("refuse unless this version is live (0 for none)"),
                )

    def handle(self, *args: Any, **options: Any) -> None:
        action = options["action"]
        if action == "show":
            self._show(options["number"], in_words=options["words"])
            return
        text = self._text(options["file"])
        document = self._document(text, options["file"])
        if action == "check":
            rules = len(document.get("rules", ()))
            words = ngettext(
                "%(file)s is a policy of %(number)s rule.",
                "%(file)s is a policy of %(number)s rules.",
                rules,
            )
            self.stdout.write(words % {"file": options["file"], "number": rules})
        elif action == "diff":
            self._diff(document)
        else:
            self._apply(document, text, options)

    def _show(self, number: int | None, *, in_words: bool) -> None:
        try:
            version = live_version() if number is None else find_version(number)
        except Refusal as error:
            raise CommandError(str(error)) from error
        stored = EMPTY if version is None else version.document
        if not in_words:
            self.stdout.write(write_text(written(stored)), ending="")
            return
        for number_of_rule, (rule, sentences) in enumerate(rules_in_words(stored), 1):
            self.stdout.write(
                "\n   ".join([f"{number_of_rule}. {visible(rule.name)}", *sentences])
            )
        self.stdout.write(" ".join(otherwise_in_words(policy_of(stored))))

    def _text(self, name: str) -> str:
        try:
            return sys.stdin.read() if name == "-" else Path(name).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(
                _("Cannot read %(file)s: %(error)s") % {"file": name, "error": error}
            ) from error

    def _document(self, text: str, name: str) -> Any:
        try:
            document = read_text(text)
            stored_form(document, directory_of(document))
        except InvalidPolicy as error:
            self._refuse(
                text,
                name,
                {path: translated(fault) for path, fault in error.faults.items()},
            )
        return document

    def _refuse(self, text: str, name: str, faults: dict[str, str]) -> None:
        lines = [
            f"{name}:{line_of(text, path)}: {path}: {fault}"
            if path
            else f"{name}: {fault}"
            for path, fault in faults.items()
        ]
        raise CommandError("\n".join(lines))

    def _diff(self, document: Any) -> None:
        lines = self._changes(document, live_version())
        for line in lines:
            self.stdout.write(line)
        if lines:
            sys.exit(1)

    def _changes(self, document: Any, live: PolicyVersion | None) -> list[str]:
        return difference(
            write_text(written(EMPTY if live is None else live.document)),
            write_text(document),
        )

    def _apply(self, document: Any, source: str, options: dict[str, Any]) -> None:
        person = User.objects.filter(username=options["by"], is_active=True).first()
        if person is None:
            raise CommandError(
                _("No active user is named %(user)r.") % {"user": options["by"]}
            )
        live = live_version()
        if not self._changes(document, live):
            # A pipeline applies the same file again and again.
            self.stdout.write(_("This policy is already live."))
            return
        based_on = options["based_on"] or None
        if options["based_on"] is None and live is not None:
            based_on = live.number
        try:
            version = write_policy(
                document,
                based_on=based_on,
                reason=options["reason"],
                by=person,
                via=Door.SYSTEM,
            )
        except Invalid as error:
            self._refuse(source, options["file"], error.errors)
        except Refusal as error:
            raise CommandError(str(error)) from error
        text = (
            _("Version %(number)s is live.")
            if version.live
            else _("Version %(number)s is waiting for another administrator.")
        )
        self.stdout.write(text % {"number": version.number})
