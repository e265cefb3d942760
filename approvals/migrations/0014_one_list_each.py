from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0013_workflows_by_name'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveIndex(
            model_name='approvalrequest',
            name='request_owner',
        ),
        migrations.RemoveIndex(
            model_name='approvalrequest',
            name='request_assignee',
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(condition=models.Q(('assigned_to__isnull', False)), fields=['assigned_to', 'workflow'], name='request_assigned'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(fields=['status', '-created_at', '-id'], name='request_age_status'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(fields=['kind', '-created_at', '-id'], name='request_age_kind'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(fields=['tool_name', '-created_at', '-id'], name='request_age_tool'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(fields=['priority', '-created_at', '-id'], name='request_age_priority'),
        ),
    ]
