from django.db import migrations

import approvals.runtime.json_field


class Migration(migrations.Migration):
    """A nullable column, which neither database writes into the rows that exist."""

    dependencies = [
        ('approvals', '0030_resuming'),
    ]

    operations = [
        migrations.AddField(
            model_name='apikey',
            name='tool_lists',
            field=approvals.runtime.json_field.ExactJSONField(null=True),
        ),
    ]
