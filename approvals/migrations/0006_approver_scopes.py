"""Approver scopes, the sets of them that fit requests, and who decides the approvals of a tool."""

import approvals.db.json_field
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0005_grants'),
        ('auth', '0012_alter_user_first_name_max_length'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ScopeSet',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=71, unique=True)),
            ],
        ),
        migrations.CreateModel(
            name='ScopeSetMember',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
            ],
        ),
        migrations.CreateModel(
            name='ScopeWalk',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('upto', models.PositiveBigIntegerField(default=0)),
                ('created_at', models.DateTimeField(null=True)),
                ('request_id', models.UUIDField(null=True)),
                ('done', models.BooleanField(default=False)),
            ],
        ),
        migrations.AlterModelOptions(
            name='approvalrequest',
            options={'permissions': [('decide_approvalrequest', 'Can decide requests'), ('reveal_secrets', 'Can show hidden values of requests'), ('ignore_scopes', 'Can see and decide without scopes')]},
        ),
        migrations.AddField(
            model_name='approvalrequest',
            name='amount',
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name='approvalrequest',
            name='scoped_upto',
            field=models.PositiveBigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='approvalrequest',
            name='control',
            field=models.CharField(choices=[('confirm', 'Confirm: also the person who runs the agent'), ('four_eyes', 'Four eyes: never the person who runs the agent')], max_length=9, null=True),
        ),
        migrations.AddField(
            model_name='toolsettings',
            name='control',
            field=models.CharField(blank=True, choices=[('confirm', 'Confirm: also the person who runs the agent'), ('four_eyes', 'Four eyes: never the person who runs the agent')], db_default='', default='', max_length=9, verbose_name='who decides'),
        ),
        migrations.CreateModel(
            name='ApproverScope',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100, unique=True)),
                ('match', approvals.db.json_field.ExactJSONField(default=dict)),
                ('may', models.CharField(choices=[('see', 'See'), ('answer', 'See, and answer questions and forms'), ('decide', 'See, answer and decide')], default='decide', max_length=6)),
                ('limit', models.FloatField(blank=True, null=True)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('people', models.ManyToManyField(blank=True, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('teams', models.ManyToManyField(blank=True, related_name='+', to='auth.group')),
            ],
        ),
        migrations.AddField(
            model_name='approvalrequest',
            name='scope_set',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='approvals.scopeset'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['scope_set', 'urgency', 'created_at', 'id'], name='request_waiting_scope_set'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(condition=models.Q(('scope_set__isnull', False)), fields=['scope_set', '-changed_at', '-id'], name='request_latest_scope_set'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['scoped_upto'], name='request_unscoped'),
        ),
        migrations.AddField(
            model_name='scopesetmember',
            name='scope_set',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='scopes', to='approvals.scopeset'),
        ),
        migrations.AddField(
            model_name='scopesetmember',
            name='scope',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='approvals.approverscope'),
        ),
        migrations.AddConstraint(
            model_name='scopesetmember',
            constraint=models.UniqueConstraint(fields=('scope_set', 'scope'), name='scope_set_member_once'),
        ),
    ]
