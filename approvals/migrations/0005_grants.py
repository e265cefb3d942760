"""Grants, the switch that stops them all, their limits for each tool, and which decision was made by one."""

import approvals.db.json_field
import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0004_secrets'),
    ]

    operations = [
        migrations.AddField(
            model_name='decision',
            name='grant_use',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='toolsettings',
            name='grant_seconds',
            field=models.PositiveIntegerField(null=True, verbose_name='longest grant'),
        ),
        migrations.AddField(
            model_name='toolsettings',
            name='grant_uses',
            field=models.PositiveIntegerField(null=True, verbose_name='most uses of a grant'),
        ),
        migrations.AddField(
            model_name='toolsettings',
            name='grant_width',
            field=models.PositiveSmallIntegerField(choices=[(0, 'this exact input'), (1, 'the same key fields'), (2, 'any input of this tool')], null=True, verbose_name='widest grant'),
        ),
        migrations.AddField(
            model_name='toolsettings',
            name='no_grants',
            field=models.BooleanField(db_default=False, default=False, verbose_name='never grant'),
        ),
        migrations.CreateModel(
            name='AskAlways',
            fields=[
                ('id', models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('since', models.DateTimeField()),
                ('by_id', models.BigIntegerField()),
                ('by_name', models.CharField(max_length=300)),
                ('reason', models.TextField(blank=True)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='ask_always_one_row')],
            },
        ),
        migrations.CreateModel(
            name='Grant',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('given_by_id', models.BigIntegerField()),
                ('given_by_name', models.CharField(max_length=300)),
                ('given_at', models.DateTimeField()),
                ('via', models.CharField(max_length=20)),
                ('reason', models.TextField(blank=True)),
                ('tool_name', models.CharField(max_length=100)),
                ('width', models.PositiveSmallIntegerField(choices=[(0, 'this exact input'), (1, 'the same key fields'), (2, 'any input of this tool')])),
                ('target', models.CharField(blank=True, max_length=71)),
                ('fields', approvals.db.json_field.ExactJSONField(null=True)),
                ('audience', models.CharField(choices=[('agent', 'this agent'), ('key', 'this key'), ('workflow', 'this workflow'), ('thread', 'this conversation')], max_length=8)),
                ('requested_by_id', models.BigIntegerField()),
                ('agent', models.CharField(blank=True, max_length=100)),
                ('scope', models.CharField(max_length=64)),
                ('workflow_key', models.CharField(max_length=200)),
                ('thread_id', models.CharField(blank=True, max_length=200)),
                ('until', models.DateTimeField(null=True)),
                ('seconds', models.PositiveIntegerField(null=True)),
                ('uses', models.PositiveIntegerField(null=True)),
                ('default_width', models.PositiveSmallIntegerField(choices=[(0, 'this exact input'), (1, 'the same key fields'), (2, 'any input of this tool')])),
                ('used', models.PositiveIntegerField(default=0)),
                ('last_used_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('ended_by_id', models.BigIntegerField(null=True)),
                ('ended_by_name', models.CharField(blank=True, max_length=300)),
                ('ended_why', models.CharField(blank=True, choices=[('revoked', 'revoked'), ('used_up', 'used up'), ('expired', 'its time is over'), ('giver_left', 'the person who gave it was deactivated or removed'), ('right_lost', 'the person who gave it may no longer decide'), ('beyond_limit', "the tool's settings no longer allow it")], max_length=12)),
                ('request', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='approvals.approvalrequest')),
            ],
        ),
        migrations.AddField(
            model_name='decision',
            name='grant',
            field=models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='approvals.grant'),
        ),
        migrations.AddIndex(
            model_name='decision',
            index=models.Index(condition=models.Q(('grant__isnull', False)), fields=['grant', '-grant_use'], name='decision_by_grant'),
        ),
        migrations.AddIndex(
            model_name='grant',
            index=models.Index(condition=models.Q(('ended_at__isnull', True)), fields=['requested_by_id', 'tool_name', 'target'], name='grant_live'),
        ),
        migrations.AddIndex(
            model_name='grant',
            index=models.Index(condition=models.Q(('ended_at__isnull', True), ('until__isnull', False)), fields=['until'], name='grant_due'),
        ),
        migrations.AddIndex(
            model_name='grant',
            index=models.Index(fields=['-given_at', '-id'], name='grant_newest'),
        ),
        migrations.AddIndex(
            model_name='grant',
            index=models.Index(fields=['request'], name='grant_of_request'),
        ),
        migrations.AddConstraint(
            model_name='grant',
            constraint=models.CheckConstraint(condition=models.Q(('until__isnull', False), ('uses__isnull', False), _connector='OR'), name='grant_ends_by_itself'),
        ),
        migrations.AddConstraint(
            model_name='grant',
            constraint=models.CheckConstraint(condition=models.Q(('uses__isnull', True), ('used__lte', models.F('uses')), _connector='OR'), name='grant_not_used_up_twice'),
        ),
    ]
