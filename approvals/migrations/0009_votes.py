"""Votes on requests, the change that they are about, and what one person decided that was left to several."""

import approvals.db.json_field
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0008_additional_rights'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='approvalrequest',
            options={'permissions': [('decide_approvalrequest', 'Can decide requests'), ('reveal_secrets', 'Can show hidden values of requests'), ('ignore_scopes', 'Can see and decide without scopes'), ('break_glass', 'Can decide alone what needs several people')]},
        ),
        migrations.AddField(
            model_name='approvalrequest',
            name='proposal',
            field=approvals.db.json_field.ExactJSONField(null=True),
        ),
        migrations.AddField(
            model_name='decision',
            name='break_glass',
            field=models.BooleanField(null=True),
        ),
        migrations.CreateModel(
            name='Vote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('person_id', models.BigIntegerField()),
                ('person_name', models.CharField(max_length=300)),
                ('verdict', models.CharField(choices=[('approve', 'Approved'), ('reject', 'Rejected')], max_length=7)),
                ('comment', models.TextField(blank=True)),
                ('digest', models.CharField(max_length=71)),
                ('stage', models.PositiveSmallIntegerField(default=0)),
                ('proposes', models.BooleanField(default=False)),
                ('via', models.CharField(max_length=20)),
                ('voted_at', models.DateTimeField()),
                ('counted', models.BooleanField(null=True)),
                ('for_id', models.BigIntegerField(null=True)),
                ('for_name', models.CharField(max_length=300, null=True)),
                ('request', models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='votes', to='approvals.approvalrequest')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('request', 'person_id'), name='one_vote_of_each')],
            },
        ),
    ]
