"""Advice of programs, and what helps people to look where it matters."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0007_terms'),
    ]

    operations = [
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
    ]
