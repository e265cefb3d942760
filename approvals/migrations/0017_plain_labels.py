import approvals.subscriptions
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0016_names_of_keys'),
    ]

    operations = [
        migrations.AlterField(
            model_name='approvalrequest',
            name='kind',
            field=models.CharField(choices=[('approval', 'Approval'), ('question', 'Question'), ('form', 'Form'), ('recovery', 'Outcome unknown')], max_length=10),
        ),
        migrations.AlterField(
            model_name='approvalrequest',
            name='status',
            field=models.CharField(choices=[('pending', 'Waiting'), ('approved', 'Approved'), ('rejected', 'Rejected'), ('answered', 'Answered'), ('cancelled', 'Cancelled'), ('expired', 'Expired')], default='pending', max_length=9),
        ),
        migrations.AlterField(
            model_name='notificationrule',
            name='route',
            field=models.CharField(choices=[('mail', 'Email'), ('slack', 'Slack')], default='mail', max_length=5),
        ),
        migrations.AlterField(
            model_name='notificationrule',
            name='slack_url',
            field=models.CharField(blank=True, help_text='An incoming webhook of Slack or a compatible service. Anyone who knows the URL can post there.', max_length=500, validators=[approvals.subscriptions.check_address], verbose_name='Slack address'),
        ),
        migrations.AlterField(
            model_name='notificationrule',
            name='tool_name',
            field=models.CharField(blank=True, help_text='Leave empty for all tools.', max_length=100, verbose_name='tool'),
        ),
        migrations.AlterField(
            model_name='outboxevent',
            name='channel',
            field=models.CharField(choices=[('handler', 'App handler'), ('webhook', 'Webhook'), ('notice', 'Notification'), ('mail', 'Email'), ('slack', 'Slack')], default='handler', max_length=8),
        ),
        migrations.AlterField(
            model_name='webhookendpoint',
            name='include_payload',
            field=models.BooleanField(default=False, help_text='Also send inputs, comments, answers and edited inputs. The receiver can read them.'),
        ),
        migrations.AlterField(
            model_name='webhookendpoint',
            name='name',
            field=models.CharField(help_text='The application behind this URL, such as “billing”.', max_length=100),
        ),
    ]
