"""The canonical names of tools: rows for several spellings of one tool are joined, and the strictest of their settings holds."""

import unicodedata

from django.db import migrations, models
from django.db.models import F

import approvals.db.canonical_name

PRIORITIES = ('', 'low', 'normal', 'high', 'critical')
CONTROLS = ('confirm', '', 'four_eyes')
#: The narrowest grant: this exact input.
EXACT_INPUT = 0
MOST_ANSWERS = 20


def fold(name):
    composed = unicodedata.normalize('NFKC', unicodedata.normalize('NFKC', name).casefold())
    return unicodedata.normalize('NFKC', composed.casefold())[:100]


def name_tools(apps, schema_editor):
    """Write the canonical name beside each spelling, with one statement for each of them."""
    for model in ('ApprovalRequest', 'Grant'):
        rows = apps.get_model('approvals', model).objects.using(schema_editor.connection.alias)
        for name in list(rows.order_by('tool_name').values_list('tool_name', flat=True).distinct()):
            rows.filter(tool_name=name).update(canonical_tool=fold(name))


def rows_by_tool(rows):
    """Return the stored rows by the canonical name of their tool, those that are spelled so first."""
    groups = {}
    # In the words of the table, as the column folds what it is compared with.
    for row in sorted(rows, key=lambda row: (row.spelling != fold(row.spelling), row.pk)):
        groups.setdefault(fold(row.spelling), []).append(row)
    return groups


def join_settings(apps, schema_editor):
    model = apps.get_model('approvals', 'ToolSettings')
    stored = model.objects.using(schema_editor.connection.alias)
    for name, (kept, *others) in rows_by_tool(stored.annotate(spelling=F('tool_name'))).items():
        for other in others:
            make_stricter(kept, other)
        stored.filter(pk__in=[other.pk for other in others]).delete()
        kept.tool_name = name
        kept.save(using=schema_editor.connection.alias)


def make_stricter(kept, other):
    """Give settings whatever is stricter in others of the same tool."""
    kept.min_priority = max(kept.min_priority, other.min_priority, key=PRIORITIES.index)
    kept.control = max(kept.control, other.control, key=CONTROLS.index)
    for name in ('reason_required', 'no_grants'):
        setattr(kept, name, getattr(kept, name) or getattr(other, name))
    for name in ('grant_seconds', 'grant_uses'):
        limits = [limit for limit in (getattr(kept, name), getattr(other, name)) if limit is not None]
        setattr(kept, name, min(limits, default=None))
    kept.grant_width = stricter_width(kept.grant_width, other.grant_width)
    for name in ('key_fields', 'secret_fields'):
        setattr(kept, name, joined(getattr(kept, name), getattr(other, name)))
    kept.prepared_answers = joined(kept.prepared_answers, other.prepared_answers)[:MOST_ANSWERS]


def stricter_width(one, other):
    """Return the narrower of two grants; of a tool such as a shell, no chosen width is the narrowest one."""
    if one == other:
        return one
    return EXACT_INPUT if None in (one, other) else min(one, other)


def joined(items, more):
    return list(dict.fromkeys([*(items or ()), *(more or ())]))


def join_floods(apps, schema_editor):
    model = apps.get_model('approvals', 'Flood')
    stored = model.objects.using(schema_editor.connection.alias)
    seen = {}
    for row in stored.annotate(spelling=F('tool_name')).order_by('-told_at', '-pk'):
        # The latest is when the person was told of this tool.
        if seen.setdefault((row.requested_by_id, row.agent, fold(row.spelling)), row.pk) != row.pk:
            row.delete(using=schema_editor.connection.alias)
    for (_person, _agent, name), pk in seen.items():
        stored.filter(pk=pk).update(tool_name=name)


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0016_other_rules_of_requests'),
    ]

    operations = [
        migrations.RemoveIndex(model_name='approvalrequest', name='request_latest_tool'),
        migrations.RemoveIndex(model_name='approvalrequest', name='request_newest_tool'),
        migrations.RemoveIndex(model_name='approvalrequest', name='request_waiting_tool'),
        migrations.RemoveIndex(model_name='grant', name='grant_live'),
        migrations.AddField(
            model_name='approvalrequest',
            name='canonical_tool',
            field=approvals.db.canonical_name.CanonicalNameField(max_length=100, null=True),
        ),
        migrations.AddField(
            model_name='grant',
            name='canonical_tool',
            field=approvals.db.canonical_name.CanonicalNameField(max_length=100, null=True),
        ),
        migrations.AlterField(
            model_name='flood',
            name='tool_name',
            field=approvals.db.canonical_name.CanonicalNameField(blank=True, max_length=100),
        ),
        migrations.AlterField(
            model_name='toolsettings',
            name='tool_name',
            field=approvals.db.canonical_name.CanonicalNameField(max_length=100, unique=True),
        ),
        migrations.RunPython(name_tools, migrations.RunPython.noop),
        migrations.RunPython(join_settings, migrations.RunPython.noop),
        migrations.RunPython(join_floods, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['canonical_tool', 'urgency', 'created_at', 'id'], name='request_waiting_tool'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(fields=['canonical_tool', '-changed_at', '-id'], name='request_latest_tool'),
        ),
        migrations.AddIndex(
            model_name='approvalrequest',
            index=models.Index(fields=['canonical_tool', '-created_at', '-id'], name='request_newest_tool'),
        ),
        migrations.AddIndex(
            model_name='grant',
            index=models.Index(condition=models.Q(('ended_at__isnull', True)), fields=['requested_by_id', 'canonical_tool', 'target'], name='grant_live'),
        ),
    ]
