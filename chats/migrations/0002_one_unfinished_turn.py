"""Restore an index of PostgreSQL, which Django dropped with that of the foreign key when `db_index` became False.

Databases that began with `0001_initial`, and all of SQLite, have it.
"""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("chats", "0001_initial")]

    operations = [
        migrations.RunSQL(
            "CREATE UNIQUE INDEX IF NOT EXISTS one_unfinished_turn_per_chat ON chats_turn (chat_id) "
            "WHERE state IN ('queued', 'running', 'suspended')",
            migrations.RunSQL.noop,
        )
    ]
