"""Absences, settings of teams, reminders and escalation, and for whom a decision was made."""

import approvals.db.json_field
import approvals.models.subscriptions
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0010_policy'),
        ('auth', '0012_alter_user_first_name_max_length'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='FollowUp',
            fields=[
                ('request', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='approvals.approvalrequest')),
                ('done', models.PositiveSmallIntegerField(default=0)),
                ('due_at', models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.AddField(
            model_name='decision',
            name='for_id',
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='decision',
            name='for_name',
            field=models.CharField(max_length=300, null=True),
        ),
        migrations.CreateModel(
            name='Absence',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('starts_at', models.DateTimeField()),
                ('until', models.DateTimeField()),
                ('reason', models.CharField(blank=True, max_length=200)),
                ('set_by_id', models.BigIntegerField()),
                ('set_by_name', models.CharField(max_length=300)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('delegate', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('person', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'indexes': [models.Index(fields=['person', 'until'], name='absence_of_person'), models.Index(fields=['delegate', 'until'], name='absence_by_delegate')],
                'constraints': [models.CheckConstraint(condition=models.Q(('until__gt', models.F('starts_at'))), name='absence_ends_after_it_starts'), models.CheckConstraint(condition=models.Q(('delegate', None), models.Q(('delegate', models.F('person')), _negated=True), _connector='OR'), name='absence_not_to_oneself')],
            },
        ),
        migrations.CreateModel(
            name='TeamSettings',
            fields=[
                ('team', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='settings', serialize=False, to='auth.group')),
                ('time_zone', models.CharField(blank=True, default='', max_length=64, verbose_name='time zone')),
                ('working_hours', models.CharField(blank=True, default='', max_length=200, verbose_name='working hours')),
                ('duty_url', models.CharField(blank=True, default='', max_length=500, validators=[approvals.models.subscriptions.check_address], verbose_name='on-duty calendar')),
                ('duty', approvals.db.json_field.ExactJSONField(default=list)),
                ('duty_read_at', models.DateTimeField(null=True)),
                ('duty_due_at', models.DateTimeField(null=True)),
                ('duty_error', models.CharField(blank=True, default='', max_length=300)),
                ('default_delegate', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='default delegate')),
            ],
            options={
                'verbose_name_plural': 'team settings',
                'indexes': [models.Index(condition=models.Q(('duty_due_at__isnull', False)), fields=['duty_due_at'], name='team_duty_due')],
            },
        ),
    ]
