"""`manage.py migrate`: Django's command, which first refuses a database that is too old for this version."""

from __future__ import annotations

from typing import Any

from django.core.management.base import SystemCheckError
from django.core.management.commands import migrate
from django.db import connections
from django.utils.translation import gettext as _

from approvals.checks import check_switch
from approvals.db import append_only
from approvals.management.refusing import refuse_older_database


class Command(migrate.Command):
    """Migrate, with no checks but one: this command mends what they look for, and must work again after it was killed."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Migrate, and say which triggers were missing before. SystemCheckError if the triggers are switched off."""
        refuse_older_database()
        connection = connections[options["database"]]
        if not options["skip_checks"]:
            errors = check_switch(connection)
            if errors:
                raise SystemCheckError("\n".join(map(str, errors)))
        missing = append_only.missing_triggers(connection)
        result = super().execute(*args, **options | {"skip_checks": True})
        restored = [name for name in missing if name not in append_only.missing_triggers(connection)]
        if restored:
            self.stderr.write(
                _(
                    "Restored triggers that were missing: %(names)s. If no earlier `migrate` was interrupted, protected "
                    "rows could be changed until now: run `manage.py audit check`."
                )
                % {"names": ", ".join(restored)}
            )
        return result
