from django.db import migrations

from approvals.queries import search


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0019_fewer_index_entries'),
    ]

    operations = [
        migrations.RunPython(
            lambda apps, editor: search.drop_column(editor.connection),
            lambda apps, editor: search.restore_column(editor.connection),
        ),
    ]
