"""On which terms a request is decided, and the rule that said so."""

import approvals.db.json_field
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0006_approver_scopes'),
    ]

    operations = [
        migrations.AddField(
            model_name='approvalrequest',
            name='policy_version',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='approvalrequest',
            name='rule',
            field=models.CharField(max_length=100, null=True),
        ),
        migrations.AddField(
            model_name='approvalrequest',
            name='terms',
            field=approvals.db.json_field.ExactJSONField(null=True),
        ),
    ]
