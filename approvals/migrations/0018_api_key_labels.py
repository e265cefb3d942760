from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0017_plain_labels'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='apikey',
            options={'verbose_name': 'API key', 'verbose_name_plural': 'API keys'},
        ),
    ]
