"""What was asked before there was a search is found too. Of its own, because PostgreSQL alters no table with fresh rows."""

from django.db import migrations
from django.db.models import OuterRef, Subquery

from approvals.words import kept

BATCH = 500


def fill(apps, editor):
    request, workflow, decision, text = (
        apps.get_model('approvals', name) for name in ('ApprovalRequest', 'Workflow', 'Decision', 'SearchText')
    )
    agents = workflow.objects.filter(pk=OuterRef('workflow_id')).exclude(agent='')
    request.objects.filter(workflow__in=workflow.objects.exclude(agent='')).update(
        agent=Subquery(agents.values('agent')[:1])
    )
    last = None
    while True:
        found = request.objects.order_by('pk')
        page = list(found.filter(pk__gt=last)[:BATCH] if last else found[:BATCH])
        if not page:
            return
        said = {one.request_id: one for one in decision.objects.filter(request_id__in=[one.pk for one in page])}
        text.objects.bulk_create([text(request_id=one.pk, words=words_of(one, said.get(one.pk))) for one in page])
        last = page[-1].pk


def words_of(request, decision):
    said = [request.title, request.message, request.tool_name, request.tool_call_id or '', request.context, request.input]
    if decision is not None:
        said += [decision.comment, decision.answer, decision.edited_input]
    return kept(*said)


class Migration(migrations.Migration):

    dependencies = [
        ('approvals', '0009_triage'),
    ]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
