"""What a client keeps with a message of a user."""

from django.db import migrations

import approvals.runtime.json_field


class Migration(migrations.Migration):
    dependencies = [("chats", "0014_who_answered")]

    operations = [
        migrations.AddField("message", "metadata", approvals.runtime.json_field.ExactJSONField(null=True)),
    ]
