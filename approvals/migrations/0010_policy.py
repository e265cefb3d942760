"""The policy: its versions, each with its rules, author and reason."""

import approvals.db.json_field
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0009_votes'),
    ]

    operations = [
        migrations.AddField(
            model_name='approvalrequest',
            name='asked_priority',
            field=models.CharField(choices=[('low', 'Low'), ('normal', 'Normal'), ('high', 'High'), ('critical', 'Critical')], max_length=8, null=True),
        ),
        migrations.CreateModel(
            name='PolicyVersion',
            fields=[
                ('number', models.PositiveIntegerField(primary_key=True, serialize=False)),
                ('based_on', models.PositiveIntegerField(null=True)),
                ('document', approvals.db.json_field.ExactJSONField()),
                ('digest', models.CharField(max_length=71)),
                ('author_id', models.BigIntegerField()),
                ('author_name', models.CharField(max_length=300)),
                ('reason', models.TextField(blank=True)),
                ('created_at', models.DateTimeField()),
                ('via', models.CharField(max_length=20)),
                ('state', models.CharField(choices=[('proposed', 'proposed'), ('live', 'live'), ('replaced', 'replaced'), ('declined', 'declined')], max_length=8)),
                ('settled_at', models.DateTimeField(null=True)),
                ('settled_by_id', models.BigIntegerField(null=True)),
                ('settled_by_name', models.CharField(blank=True, max_length=300)),
                ('replaced_at', models.DateTimeField(null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'live')), fields=('state',), name='policy_one_live'), models.CheckConstraint(condition=models.Q(('state__in', ['proposed', 'live', 'replaced', 'declined'])), name='policy_state_known')],
            },
        ),
    ]
