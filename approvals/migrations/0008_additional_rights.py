"""Additional rights of people, which another administrator confirms; and the name of the switch in the admin."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', "0007_terms"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='askalways',
            options={'verbose_name': 'ask about everything', 'verbose_name_plural': 'ask about everything'},
        ),
        migrations.AlterField(
            model_name='pendingchange',
            name='kind',
            field=models.CharField(choices=[('roles', 'Roles'), ('email', 'Email address'), ('password_link', 'Link to set a password'), ('rights', 'Additional rights')], max_length=16),
        ),
    ]
