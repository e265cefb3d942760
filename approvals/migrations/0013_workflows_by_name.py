from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0012_said_before'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='workflow',
            index=models.Index(fields=['key'], name='workflow_key'),
        ),
        migrations.AddIndex(
            model_name='workflow',
            index=models.Index(fields=['thread_id'], name='workflow_thread'),
        ),
    ]
