"""Empty the stored messages of unfinished turns: their parts are made from the steps from now on."""

from django.db import migrations
from django.db.models import OuterRef, Exists

UNFINISHED = ["queued", "running", "suspended"]


def empty(apps, schema_editor):
    turns = apps.get_model("chats", "Turn").objects.filter(
        chat=OuterRef("chat"), message_id=OuterRef("message_id"), state__in=UNFINISHED
    )
    apps.get_model("chats", "Message").objects.filter(Exists(turns), role="assistant").update(parts=[])


class Migration(migrations.Migration):
    dependencies = [("chats", "0009_fewer_indexes")]

    operations = [migrations.RunPython(empty, migrations.RunPython.noop)]
