"""The number of writes to a turn, by which a runner knows whether what it has read still holds."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("chats", "0015_message_metadata")]

    operations = [
        migrations.AddField("turn", "version", models.PositiveBigIntegerField(default=0)),
    ]
