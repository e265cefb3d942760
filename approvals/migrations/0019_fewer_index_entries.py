
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0018_api_key_labels'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='approvalrequest',
            name='request_natural_key',
        ),
        migrations.RemoveConstraint(
            model_name='approvalrequest',
            name='request_idempotency_key',
        ),
        migrations.RemoveIndex(
            model_name='approvalrequest',
            name='request_inbox',
        ),
        migrations.RemoveIndex(
            model_name='approvalrequest',
            name='request_changed',
        ),
        migrations.RemoveIndex(
            model_name='approvalrequest',
            name='request_inbox_tool',
        ),
        migrations.RemoveIndex(
            model_name='approvalrequest',
            name='request_inbox_agent',
        ),
        migrations.RemoveIndex(
            model_name='approvalrequest',
            name='request_inbox_workflow',
        ),
        migrations.RemoveIndex(
            model_name='approvalrequest',
            name='request_inbox_mine',
        ),
        migrations.RemoveIndex(
            model_name='approvalrequest',
            name='request_over_mine',
        ),
        migrations.RemoveIndex(
            model_name='approvalrequest',
            name='request_precedents',
        ),
        migrations.RemoveIndex(
            model_name='workflow',
            name='workflow_waiting',
        ),
        migrations.RemoveIndex(
            model_name='workflow',
            name='workflow_ended',
        ),
        migrations.RemoveIndex(
            model_name='workflow',
            name='workflow_owner',
        ),
        migrations.RenameIndex(
            model_name='approvalrequest',
            new_name='request_latest_status',
            old_name='request_over',
        ),
        migrations.RenameIndex(
            model_name='approvalrequest',
            new_name='request_latest_tool',
            old_name='request_over_tool',
        ),
        migrations.RenameIndex(
            model_name='approvalrequest',
            new_name='request_latest_agent',
            old_name='request_over_agent',
        ),
        migrations.RenameIndex(
            model_name='approvalrequest',
            new_name='request_latest_requester',
            old_name='request_over_requester',
        ),
        migrations.RenameIndex(
            model_name='approvalrequest',
            new_name='request_newest',
            old_name='request_age',
        ),
        migrations.RenameIndex(
            model_name='approvalrequest',
            new_name='request_newest_status',
            old_name='request_age_status',
        ),
        migrations.RenameIndex(
            model_name='approvalrequest',
            new_name='request_newest_kind',
            old_name='request_age_kind',
        ),
        migrations.RenameIndex(
            model_name='approvalrequest',
            new_name='request_newest_tool',
            old_name='request_age_tool',
        ),
        migrations.RenameIndex(
            model_name='approvalrequest',
            new_name='request_newest_priority',
            old_name='request_age_priority',
        ),
        migrations.AlterField(
            model_name='approvalrequest',
            name='assigned_to',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='approvalrequest',
            name='claimed_by',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='approvalrequest',
            name='requested_by',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='approvalrequest',
            name='workflow',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='requests', to='approvals.workflow'),
        ),
        migrations.AlterField(
            model_name='auditentry',
            name='actor_name',
            field=models.CharField(blank=True, max_length=300, verbose_name='person'),
        ),
        migrations.AlterField(
            model_name='auditentry',
            name='at',
            field=models.DateTimeField(),
        ),
        migrations.AlterField(
            model_name='auditentry',
            name='dedup_key',
            field=models.CharField(max_length=300, null=True),
        ),
        migrations.AlterField(
            model_name='auditentry',
            name='request_id',
            field=models.UUIDField(null=True),
        ),
        migrations.AlterField(
            model_name='auditentry',
            name='thread_id',
            field=models.CharField(blank=True, max_length=200, verbose_name='chat'),
        ),
        migrations.AlterField(
            model_name='auditentry',
            name='tool_name',
            field=models.CharField(blank=True, max_length=100, verbose_name='tool'),
        ),
        migrations.AlterField(
            model_name='workflow',
            name='owner',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['urgency', 'created_at', 'id'], name='request_waiting'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['tool_name', 'urgency', 'created_at', 'id'], name='request_waiting_tool'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['agent', 'urgency', 'created_at', 'id'], name='request_waiting_agent'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['workflow', 'urgency', 'created_at', 'id'], name='request_waiting_workflow'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['assigned_to', 'urgency', 'created_at', 'id'], name='request_waiting_mine'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(fields=['-changed_at', '-id'], name='request_latest'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(fields=['workflow', '-changed_at', '-id'], name='request_latest_workflow'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(condition=models.Q(('assigned_to__isnull', False)), fields=['assigned_to', '-changed_at', '-id'], name='request_latest_mine'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(condition=models.Q(('claimed_by__isnull', False)), fields=['claimed_by'], name='request_claimant'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['at'], name='audit_at'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['request_id'], name='audit_request'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['thread_id'], name='audit_thread'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['tool_name'], name='audit_tool'),
        ),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(fields=['actor_name'], name='audit_actor'),
        ),
        migrations.AddIndex(
            model_name='workflow',
            index=models.Index(condition=models.Q(('state', 'suspended')), fields=['urgency', 'suspended_at', 'id'], name='workflow_suspended'),
        ),
        migrations.AddIndex(
            model_name='workflow',
            index=models.Index(condition=models.Q(('state', 'suspended')), fields=['owner'], name='workflow_owner_suspended'),
        ),
        migrations.AddIndex(
            model_name='workflow',
            index=models.Index(condition=models.Q(('ended_at__isnull', False)), fields=['-ended_at', '-id'], name='workflow_over'),
        ),
        migrations.AddConstraint(
            model_name='approvalrequest',
            constraint=models.UniqueConstraint(condition=models.Q(('tool_call_id__isnull', False)), fields=('scope', 'tool_call_id', 'kind', 'attempt'), name='request_of_call'),
        ),
        migrations.AddConstraint(
            model_name='approvalrequest',
            constraint=models.UniqueConstraint(condition=models.Q(('idempotency_key__isnull', False)), fields=('scope', 'idempotency_key'), name='request_of_key'),
        ),
        migrations.AddConstraint(
            model_name='auditentry',
            constraint=models.UniqueConstraint(condition=models.Q(('dedup_key__isnull', False)), fields=('dedup_key',), name='audit_dedup_key'),
        ),
    ]
