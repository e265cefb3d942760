import json

from django.db import migrations, models

from approvals.record.amounts import amount_at, amount_pointer
from approvals.runtime.append_only import maintenance

#: Rows of one transaction, few because an input may be megabytes long.
BATCH = 200


def batches(rows):
    """Yield rows in the order of their keys, BATCH at a time."""
    last = None
    while found := list((rows if last is None else rows.filter(pk__gt=last)).order_by('pk')[:BATCH]):
        yield found
        last = found[-1].pk


def fill_pointers(apps, schema_editor):
    """Note where the amount of each request is, by the key fields that its tool has now."""
    requests = apps.get_model('approvals', 'ApprovalRequest').objects
    for settings in apps.get_model('approvals', 'ToolSettings').objects.iterator():
        if settings.key_fields:
            for found in batches(requests.filter(tool_name=settings.tool_name).only('input')):
                for request in found:
                    request.amount_pointer = amount_pointer(request.input, settings.key_fields)
                requests.bulk_update([one for one in found if one.amount_pointer], ['amount_pointer'])


def fill_amounts(apps, schema_editor):
    """Fill the new column of the entries about requests and results; the triggers allow it only in these transactions."""
    entries = apps.get_model('approvals', 'AuditEntry').objects.filter(amount=None)
    requests = apps.get_model('approvals', 'ApprovalRequest').objects.only('input', 'amount_pointer')
    key_fields = dict(apps.get_model('approvals', 'ToolSettings').objects.values_list('tool_name', 'key_fields'))
    about = entries.filter(models.Q(request_id__isnull=False) | models.Q(event='tool.result'))
    for found in batches(about.only('request_id', 'tool_name', 'body')):
        asked = requests.in_bulk({one.request_id for one in found if one.request_id})
        rows = [(amount_of(one, asked.get(one.request_id), key_fields), one.pk) for one in found]
        fill(schema_editor.connection, [row for row in rows if row[0] is not None])


def amount_of(entry, request, key_fields):
    data = json.loads(entry.body).get('data') or {}
    held = next((data[name] for name in ('edited_input', 'input') if data.get(name) is not None), None)
    if request is None:
        return None if held is None else amount_at(held, amount_pointer(held, key_fields.get(entry.tool_name, [])))
    return amount_at(request.input if held is None else held, request.amount_pointer)


def fill(connection, rows):
    if rows:
        with maintenance(connection, 'the amounts of old entries'), connection.cursor() as cursor:
            cursor.executemany('UPDATE approvals_auditentry SET amount = %s WHERE id = %s', rows)


class Migration(migrations.Migration):
    """Each batch has a transaction of its own, so that nobody waits for long, and a migration that stopped can run again.

    The index is made last, over the entries with an amount only. PostgreSQL reads the table for it once, and writes of
    entries wait meanwhile: about a second for a million of them.
    """

    atomic = False

    dependencies = [
        ('approvals', '0028_amounts'),
    ]

    operations = [
        migrations.RunPython(fill_pointers, migrations.RunPython.noop),
        migrations.RunPython(fill_amounts, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name='auditentry',
            index=models.Index(condition=models.Q(('amount__isnull', False)), fields=['amount', 'id'], name='audit_amount'),
        ),
    ]
