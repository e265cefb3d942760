"""Add the table of files that people send with messages."""

import django.db.models.deletion
import django.utils.timezone
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('chats', '0012_model_prices'),
    ]

    operations = [
        migrations.CreateModel(
            name='Attachment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('file_id', models.UUIDField(default=uuid.uuid4, editable=False)),
                ('media_type', models.CharField(max_length=50)),
                ('name', models.CharField(blank=True, max_length=200)),
                ('size', models.PositiveIntegerField()),
                ('digest', models.CharField(max_length=71)),
                ('content', models.BinaryField()),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('chat', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='attachments', to='chats.chat')),
            ],
            options={
                'indexes': [models.Index(fields=['file_id'], name='attachment_file')],
                'constraints': [models.UniqueConstraint(fields=('chat', 'file_id'), name='attachment_in_chat')],
            },
        ),
    ]
