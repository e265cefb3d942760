"""Whom a note mentions; and a time zone that was never chosen is that of the installation."""

from django.db import migrations, models

import approvals.db.json_field


class Migration(migrations.Migration):
    dependencies = [("approvals", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="requestcomment",
            name="mentions",
            field=approvals.db.json_field.ExactJSONField(editable=False, null=True),
        ),
        migrations.AlterField(
            model_name="preferences",
            name="time_zone",
            field=models.CharField(blank=True, default="", max_length=64, verbose_name="time zone"),
        ),
        # So far the time zone counted for quiet hours only, and UTC was its default.
        migrations.RunSQL(
            "UPDATE approvals_preferences SET time_zone = '' WHERE time_zone = 'UTC' AND quiet_from IS NULL",
            migrations.RunSQL.noop,
        ),
    ]
