"""Changes of every kind that wait for a second administrator, and who made which key."""

import approvals.db.json_field
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.utils import timezone


def remember_makers(apps, schema_editor):
    """Copy from the audit log who made the keys that still work."""
    alias = schema_editor.connection.alias
    people = set(apps.get_model("auth", "User").objects.using(alias).values_list("pk", flat=True))
    keys = apps.get_model("approvals", "ApiKey").objects.using(alias).filter(revoked_at=None)
    entries = apps.get_model("approvals", "AuditEntry").objects.using(alias).filter(event="key.created")
    for key in keys.iterator():
        maker = entries.filter(scope=f"key:{key.pk}").values_list("actor_id", flat=True).first()
        if maker in people:
            keys.filter(pk=key.pk).update(made_by=maker)


def list_proposed_versions(apps, schema_editor):
    """List the proposed versions of the policy among the changes that wait; they can be confirmed for a week from now."""
    alias = schema_editor.connection.alias
    people = set(apps.get_model("auth", "User").objects.using(alias).values_list("pk", flat=True))
    versions = apps.get_model("approvals", "PolicyVersion").objects.using(alias).filter(state="proposed")
    changes = apps.get_model("approvals", "PendingChange").objects.using(alias)
    for version in versions:
        if version.author_id in people:
            changes.create(
                kind="policy",
                subject=str(version.number),
                value={"digest": version.digest},
                requested_by_id=version.author_id,
                requested_at=timezone.now(),
            )


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0019_input_fingerprints'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='pendingchange',
            name='one_pending_change_of_each',
        ),
        migrations.AddField(
            model_name='apikey',
            name='made_by',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='apikey',
            name='replaces',
            field=approvals.db.json_field.ExactJSONField(null=True),
        ),
        migrations.AddField(
            model_name='approvalrequest',
            name='key_made_by_id',
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='pendingchange',
            name='before',
            field=approvals.db.json_field.ExactJSONField(null=True),
        ),
        migrations.AddField(
            model_name='pendingchange',
            name='subject',
            field=models.CharField(db_default='', default='', max_length=120),
        ),
        migrations.AlterField(
            model_name='pendingchange',
            name='kind',
            field=models.CharField(choices=[('roles', 'Roles'), ('email', 'Email address'), ('password_link', 'Link to set a password'), ('rights', 'Additional rights'), ('role_taken', 'Role taken away'), ('teams', 'Teams'), ('key', 'API key'), ('key_lists', 'Lists of an API key'), ('tool', 'Settings of a tool'), ('priorities', 'Priorities'), ('scope', 'Approver scope'), ('policy', 'Policy')], max_length=16),
        ),
        migrations.AlterField(
            model_name='pendingchange',
            name='person',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddConstraint(
            model_name='pendingchange',
            constraint=models.UniqueConstraint(fields=('person', 'kind', 'subject'), name='one_pending_change_of_each'),
        ),
        migrations.AddConstraint(
            model_name='pendingchange',
            constraint=models.UniqueConstraint(condition=models.Q(('person', None)), fields=('kind', 'subject'), name='one_pending_change_of_no_one'),
        ),
        migrations.RunPython(remember_makers, migrations.RunPython.noop),
        migrations.RunPython(list_proposed_versions, migrations.RunPython.noop),
    ]
