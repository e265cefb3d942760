from datetime import timedelta

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.db import migrations
from django.utils import timezone

BATCH = 1000


def index_sessions(apps, editor):
    """Note whose sessions there are already, so that they can be listed and ended."""
    store, found = SessionStore(), []
    known = set(apps.get_model("auth", "User").objects.using(editor.connection.alias).values_list("pk", flat=True))
    rows = apps.get_model("sessions", "Session").objects.using(editor.connection.alias)
    noted = apps.get_model("approvals", "PersonSession")
    for row in rows.filter(expire_date__gt=timezone.now()).iterator(BATCH):
        person = str(store.decode(row.session_data).get(SESSION_KEY, ""))
        if person.isdecimal() and int(person) in known:
            started = row.expire_date - timedelta(seconds=settings.SESSION_COOKIE_AGE)
            found.append(noted(session_key=row.session_key, person_id=int(person), started_at=started))
    noted.objects.using(editor.connection.alias).bulk_create(found, BATCH)


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0022_administration'),
        ('sessions', '0001_initial'),
    ]

    operations = [migrations.RunPython(index_sessions, migrations.RunPython.noop)]
