"""Who decides a request, as the settings of its tool said when it was asked."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0006_approver_scopes'),
    ]

    operations = [
        migrations.AddField(
            model_name='approvalrequest',
            name='control',
            field=models.CharField(choices=[('confirm', 'Confirm: also the person who runs the agent'), ('four_eyes', 'Four eyes: never the person who runs the agent')], max_length=9, null=True),
        ),
        migrations.AlterField(
            model_name='toolsettings',
            name='control',
            field=models.CharField(blank=True, choices=[('confirm', 'Confirm: also the person who runs the agent'), ('four_eyes', 'Four eyes: never the person who runs the agent')], db_default='', default='', max_length=9, verbose_name='who decides'),
        ),
    ]
