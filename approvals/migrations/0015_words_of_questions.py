from django.db import migrations


def forget(apps, schema_editor):
    """The words of questions were counted two or three times: their input says again what stands in them."""
    requests = apps.get_model("approvals", "ApprovalRequest")
    requests.objects.filter(kind__in=["question", "form"]).update(words=None)


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0014_one_list_each'),
    ]

    operations = [
        migrations.RunPython(forget, migrations.RunPython.noop),
    ]
