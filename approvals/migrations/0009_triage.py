import django.db.models.deletion
from django.db import migrations, models

from approvals import searching


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0008_workers'),
    ]

    operations = [
        migrations.CreateModel(
            name='SearchText',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('words', models.TextField()),
                ('request', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='approvals.approvalrequest')),
            ],
        ),
        migrations.RunPython(
            lambda apps, editor: searching.create_index(editor.connection),
            lambda apps, editor: searching.drop_index(editor.connection),
        ),
        migrations.AddField(
            model_name='approvalrequest',
            name='agent',
            field=models.CharField(blank=True, max_length=100),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(fields=['status', 'tool_name', 'urgency', 'created_at', 'id'], name='request_inbox_tool'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(fields=['status', 'agent', 'urgency', 'created_at', 'id'], name='request_inbox_agent'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(fields=['status', 'workflow', 'urgency', 'created_at', 'id'], name='request_inbox_workflow'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(fields=['status', '-changed_at', '-id'], name='request_over'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(fields=['tool_name', '-changed_at', '-id'], name='request_over_tool'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(fields=['agent', '-changed_at', '-id'], name='request_over_agent'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(fields=['requested_by', 'status', 'urgency', 'created_at', 'id'], name='request_inbox_requester'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(fields=['assigned_to', 'status', 'urgency', 'created_at', 'id'], name='request_inbox_mine'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(fields=['requested_by', '-changed_at', '-id'], name='request_over_requester'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(fields=['assigned_to', '-changed_at', '-id'], name='request_over_mine'),
        ),
        migrations.AddIndex(
            model_name='decision',
            index=models.Index(fields=['by_name', '-decided_at', '-request'], name='decision_by'),
        ),
    ]
