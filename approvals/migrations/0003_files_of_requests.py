"""Files of requests: what is known of them, and which are in the storage."""

import approvals.db.json_field
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0002_people'),
    ]

    operations = [
        migrations.AddField(
            model_name='approvalrequest',
            name='attachments',
            field=approvals.db.json_field.ExactJSONField(null=True),
        ),
        migrations.CreateModel(
            name='RequestAttachment',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('erase_at', models.DateTimeField(null=True)),
                ('request', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.approvalrequest')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('erase_at__isnull', False)), fields=['erase_at'], name='attachment_erase')],
            },
        ),
    ]
