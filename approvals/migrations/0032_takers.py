from django.db import migrations, models


class Migration(migrations.Migration):
    """Nullable columns, which neither database writes into the rows that exist."""

    dependencies = [
        ('approvals', '0031_tool_lists'),
    ]

    operations = [
        migrations.AddField('approvalrequest', 'taker', models.CharField(max_length=200, null=True)),
        migrations.AddField('approvalrequest', 'taken_by', models.CharField(max_length=300, null=True)),
        migrations.AddField('approvalrequest', 'taken_at', models.DateTimeField(null=True)),
    ]
