"""`manage.py migrate`: Django's command, after refusing a database of a commit before 0.1.0."""

from __future__ import annotations

from typing import Any

from django.core.management.base import SystemCheckError
from django.core.management.commands import migrate
from django.db import connections
from django.utils.translation import gettext as _

from approvals.checks import check_switch
from approvals.db import append_only
from approvals.management.refusing import refuse_earlier_commit


class Command(migrate.Command):
    """Migrate with only one check: this command repairs the state that other checks test, and must work again after a kill."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Migrate, and report triggers that were missing before. Raise SystemCheckError if the triggers are switched off."""
        refuse_earlier_commit()
        connection = connections[options["database"]]
        if not options["skip_checks"]:
            errors = check_switch(connection)
            if errors:
                raise SystemCheckError("\n".join(map(str, errors)))
        missing = append_only.missing_triggers(connection)
        result = super().execute(*args, **options | {"skip_checks": True})
        restored = [
            name
            for name in missing
            if name not in append_only.missing_triggers(connection)
        ]
        if restored:
            self.stderr.write(
                _(
                    "Restored triggers that were missing: %(names)s. If no earlier `migrate` was interrupted, protected "
                    "rows could be changed until now: run `manage.py audit check`."
                )
                % {"names": ", ".join(restored)}
            )
        return result
