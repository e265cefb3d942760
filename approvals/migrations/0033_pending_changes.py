import approvals.runtime.json_field
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """A table of changes that wait for a second administrator."""

    dependencies = [
        ('approvals', '0032_takers'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='PendingChange',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('roles', 'Roles'), ('email', 'Email address'), ('password_link', 'Link to set a password')], max_length=16)),
                ('value', approvals.runtime.json_field.ExactJSONField(null=True)),
                ('requested_at', models.DateTimeField()),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('requested_by', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('person', 'kind'), name='one_pending_change_of_each')],
            },
        ),
    ]
