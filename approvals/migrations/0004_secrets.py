"""What of requests people do not see, and the permission to show it."""

from django.db import migrations, models

import approvals.db.json_field


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0003_files_of_requests'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='approvalrequest',
            options={'permissions': [('decide_approvalrequest', 'Can decide requests'), ('reveal_secrets', 'Can show hidden values of requests')]},
        ),
        migrations.AddField(
            model_name='approvalrequest',
            name='secrets',
            field=approvals.db.json_field.ExactJSONField(null=True),
        ),
        migrations.AddField(
            model_name='toolsettings',
            name='secret_fields',
            field=approvals.db.json_field.ExactJSONField(default=list, null=True),
        ),
    ]
