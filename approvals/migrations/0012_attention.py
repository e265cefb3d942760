"""Advice of programs, and what helps people to look where it matters."""

import approvals.db.json_field
import django.db.models.deletion
import django.utils.timezone
import uuid
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0011_absence'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='CheckCase',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('title', models.CharField(max_length=200, verbose_name='title')),
                ('tool_name', models.CharField(max_length=100, verbose_name='tool')),
                ('agent', models.CharField(blank=True, max_length=100, verbose_name='agent')),
                ('message', models.TextField(blank=True, max_length=5000, verbose_name='message')),
                ('input', approvals.db.json_field.ExactJSONField(default=dict)),
                ('expected', models.CharField(choices=[('reject', 'Reject'), ('approve', 'Approve')], default='reject', max_length=8, verbose_name='what is right')),
                ('explanation', models.TextField(max_length=2000, verbose_name='why, shown after the decision')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('removed_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.AddField(
            model_name='approvalrequest',
            name='advised',
            field=models.PositiveSmallIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='decision',
            name='unseen',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='preferences',
            name='daily_budget',
            field=models.PositiveSmallIntegerField(blank=True, null=True, verbose_name='decisions a day'),
        ),
        migrations.CreateModel(
            name='CheckSettings',
            fields=[
                ('id', models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('every', models.PositiveSmallIntegerField(verbose_name='decisions between two checks')),
                ('since', models.DateTimeField()),
                ('by_id', models.BigIntegerField()),
                ('by_name', models.CharField(max_length=300)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='check_settings_one_row'), models.CheckConstraint(condition=models.Q(('every__gte', 5), ('every__lte', 1000)), name='check_settings_rate')],
            },
        ),
        migrations.CreateModel(
            name='Flood',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('requested_by_id', models.BigIntegerField()),
                ('agent', models.CharField(blank=True, max_length=100)),
                ('tool_name', models.CharField(blank=True, max_length=100)),
                ('told_at', models.DateTimeField()),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('requested_by_id', 'agent', 'tool_name'), name='flood_once')],
            },
        ),
        migrations.CreateModel(
            name='Advice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('by_id', models.BigIntegerField()),
                ('by_name', models.CharField(max_length=300)),
                ('key_id', models.BigIntegerField()),
                ('hint', models.CharField(choices=[('looks_fine', 'Looks fine'), ('look_closer', 'Look closer'), ('looks_wrong', 'Looks wrong')], max_length=11)),
                ('text', models.TextField()),
                ('priority', models.CharField(blank=True, choices=[('low', 'Low'), ('normal', 'Normal'), ('high', 'High'), ('critical', 'Critical')], max_length=8)),
                ('raised_from', models.CharField(blank=True, choices=[('low', 'Low'), ('normal', 'Normal'), ('high', 'High'), ('critical', 'Critical')], max_length=8)),
                ('at', models.DateTimeField(default=django.utils.timezone.now)),
                ('request', models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='advice', to='approvals.approvalrequest')),
            ],
            options={
                'verbose_name_plural': 'advice',
                'indexes': [models.Index(fields=['request', 'id'], name='advice_on_request')],
            },
        ),
        migrations.CreateModel(
            name='SeededCheck',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('next_after', models.PositiveSmallIntegerField()),
                ('verdict', models.CharField(blank=True, max_length=8)),
                ('unseen', models.PositiveIntegerField(null=True)),
                ('decided_at', models.DateTimeField(null=True)),
                ('case', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.checkcase')),
                ('person', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('requested_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['person', '-created_at'], name='check_of_person'), models.Index(condition=models.Q(('decided_at__isnull', False)), fields=['decided_at'], name='check_decided')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('decided_at', None)), fields=('person',), name='check_one_at_a_time')],
            },
        ),
    ]
