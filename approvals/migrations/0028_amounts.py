from django.db import migrations, models


class Migration(migrations.Migration):
    """Nullable columns, which neither database writes into the rows that exist."""

    dependencies = [
        ('approvals', '0027_language_of_a_person'),
    ]

    operations = [
        migrations.AddField(
            model_name='approvalrequest',
            name='amount_pointer',
            field=models.CharField(max_length=200, null=True),
        ),
        migrations.AddField(
            model_name='auditentry',
            name='amount',
            field=models.FloatField(null=True),
        ),
    ]
