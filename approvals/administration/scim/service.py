"""The SCIM protocol of scim2-server, over the people and groups of this installation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from itertools import chain
from typing import Any, cast

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from scim2_models import (
    AuthenticationScheme,
    Bulk,
    ChangePassword,
    Context,
    Error,
    ETag,
    Filter,
    InvalidSyntaxException,
    InvalidValueException,
    NotFoundException,
    Patch,
    PreconditionFailedException,
    Resource,
    ResourceType,
    ResponseParameters,
    Schema,
    SCIMException,
    ScimPolicy,
    ScimProvider,
    SearchRequest,
    ServiceProviderConfig,
    Sort,
    UniquenessException,
)
from scim2_models.path import CompareOperator, Comparison
from scim2_server.handler import ScimHandler
from scim2_server.requests import ScimRequest
from scim2_server.responses import ScimResponse
from scim2_server.service import ScimService
from scim2_server.storage import ScimStorage, SearchPage
from scim2_server.utils import load_default_resource_types, load_default_schemas

from approvals.administration.changeable import lock_people
from approvals.administration.scim import actions
from approvals.administration.scim.queries import (
    GROUP,
    PERSON,
    group_documents,
    number_in,
    person_documents,
    primary_of,
    seen_people,
)
from approvals.db.canonical_json import NotCanonical, canonical, clean_text, load
from approvals.exceptions import Invalid, Refusal
from approvals.json_types import JsonDict
from approvals.models import ScimGroup
from approvals.models.actors import KeyActor
from approvals.models.scim import MAX_NAME
from approvals.text.translation import translated

MAX_BODY = 1_000_000
MAX_VALUES = 60_000
MAX_OPERATIONS = 100
MAX_RESULTS = 200
#: Of what the provider states about a person.
MAX_ATTRIBUTES = 10_000
READS = frozenset({"GET", "HEAD"})
#: The attributes that are kept, and of those with parts, which ones. All others are accepted and dropped.
KEPT: dict[str, dict[str, set[str]]] = {
    "User": {
        "userName": set(),
        "name": {"formatted", "givenName", "familyName"},
        "displayName": set(),
        "active": set(),
        "emails": {"value", "type", "primary"},
    },
    "Group": {"displayName": set(), "members": {"value", "$ref"}},
}


def _provider() -> ScimProvider:
    schemas = [each for each in load_default_schemas().values() if each.name in KEPT]
    for schema in schemas:
        _keep(schema, KEPT[cast(str, schema.name)])
    types = list(load_default_resource_types().values())
    for each in types:
        each.schema_extensions = None
    key = AuthenticationScheme(
        type=AuthenticationScheme.Type.oauthbearertoken,
        name="API key",
        description="A key of Pausepoint with the scope scim alone",
    )
    config = ServiceProviderConfig(
        patch=Patch(supported=True),
        bulk=Bulk(
            supported=True, max_operations=MAX_OPERATIONS, max_payload_size=MAX_BODY
        ),
        filter=Filter(supported=True, max_results=MAX_RESULTS),
        change_password=ChangePassword(supported=False),
        sort=Sort(supported=True),
        etag=ETag(supported=True),
        authentication_schemes=[key],
    )
    policy = ScimPolicy(
        unknown=ScimPolicy.Unknown.ignore,
        remove_value_as_filter=ScimPolicy.RemoveValue.apply,
        unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
    )
    return ScimProvider.from_discovery(schemas, types, config=config, policy=policy)


def _keep(schema: Schema, kept: dict[str, set[str]]) -> None:
    schema.attributes = [each for each in schema.attributes or () if each.name in kept]
    for attribute in schema.attributes:
        if parts := kept[cast(str, attribute.name)]:
            attribute.sub_attributes = [
                each for each in attribute.sub_attributes or () if each.name in parts
            ]
        for part in attribute.sub_attributes or ():
            if part.reference_types:
                # Groups have no groups.
                part.reference_types = ["User"]


class Service(ScimService):
    """The library's protocol, which reads bodies within bounds and as providers really send them."""

    def decode_body(self, body: bytes, content_type: str | None) -> Any:
        self.ensure_json(content_type)
        try:
            value = load(body, max_values=MAX_VALUES)
            canonical(value, max_bytes=MAX_BODY, max_values=MAX_VALUES)
        except NotCanonical as error:
            raise InvalidSyntaxException(detail=translated(error)) from error
        return value

    def read_body(
        self, model: Any, body: bytes, content_type: str | None, scim_ctx: Context
    ) -> Any:
        plain = json.dumps(_plain_members(self.decode_body(body, content_type)))
        return super().read_body(model, plain.encode(), content_type, scim_ctx)

    def me_target(self, request: ScimRequest) -> tuple[ResourceType, str]:
        raise NotFoundException(detail=_("A key is no person: there is no /Me."))

    def me_creation_type(self, request: ScimRequest) -> ResourceType:
        raise NotFoundException(detail=_("A key is no person: there is no /Me."))


def _plain_members(value: Any) -> Any:
    """Return a body in which operations on members name them by their ids alone: the library compares whole entries."""
    if isinstance(value, list):
        return [_plain_members(each) for each in value]
    if not isinstance(value, dict):
        return value
    plain = {name: _plain_members(part) for name, part in value.items()}
    names = {name.casefold(): name for name in plain}
    path = plain.get(names.get("path", ""))
    entries = plain.get(names.get("value", ""))
    if isinstance(path, str) and path.casefold() == "members" and entries is not None:
        entries = entries if isinstance(entries, list) else [entries]
        plain[names["value"]] = [_plain_member(each) for each in entries]
    return plain


def _plain_member(entry: Any) -> Any:
    if isinstance(entry, str):
        return {"value": entry}
    return (
        {"value": entry["value"]}
        if isinstance(entry, dict) and "value" in entry
        else entry
    )


class Storage(ScimStorage):
    """The people and groups as the library sees them, changed by the actor of a key."""

    def __init__(self, actor: KeyActor, *, writes: bool) -> None:
        self.actor = actor
        self.writes = writes

    @contextmanager
    def operation(self) -> Iterator[None]:
        """Hold the lock of all changes of people while one is read, changed and stored."""
        try:
            with transaction.atomic():
                if self.writes:
                    lock_people(self.actor)
                yield
        except actions.NameTaken as refusal:
            raise UniquenessException(detail=str(refusal)) from refusal
        except Invalid as refusal:
            raise InvalidValueException(detail=str(refusal)) from refusal
        except Refusal as refusal:
            error = Error(status=refusal.status, detail=str(refusal))
            raise SCIMException.from_error(error) from refusal

    def get(
        self,
        resource_type: ResourceType,
        resource_id: str,
        *,
        response_parameters: ResponseParameters[Any] | None = None,
    ) -> Resource[Any]:
        if resource_type.name == "User":
            people = seen_people().filter(pk=number_in(resource_id, PERSON))
            resources = _people(people)
        else:
            groups = ScimGroup.objects.filter(pk=number_in(resource_id, GROUP))
            resources = _groups(groups)
        for resource in resources:
            return resource
        raise NotFoundException(detail=_("There is nothing with this id."))

    def search(
        self,
        resource_types: list[ResourceType],
        search_request: SearchRequest[Any],
        *,
        position: Any = None,
    ) -> SearchPage:
        start = search_request.start_index_0 or 0
        end = start + cast(int, search_request.count)
        names = [each.name for each in resource_types]
        rows = {
            "User": seen_people(),
            "Group": ScimGroup.objects.order_by("pk"),
        }
        condition = search_request.filter
        if len(names) == 1:
            kind = cast(str, names[0])
            narrowed = rows[kind].filter(_columns(kind, condition))
            if condition is None and search_request.sort_by is None:
                page = list(_resources(kind, narrowed[start:end]))
                return SearchPage(narrowed.count(), page)
            rows = {kind: narrowed}
        every = chain.from_iterable(
            _resources(name, each) for name, each in rows.items() if name in names
        )
        matching = [
            each for each in every if condition is None or condition.match(each)
        ]
        matching = search_request.sort(matching)
        return SearchPage(len(matching), matching[start:end])

    def create(
        self, resource_type: ResourceType, resource: Resource[Any]
    ) -> Resource[Any]:
        if resource_type.name == "User":
            person = actions.create_person(_person(resource), by=self.actor)
            return self.get(resource_type, f"{PERSON}{person.pk}")
        group = actions.create_group(_group(resource), by=self.actor)
        return self.get(resource_type, f"{GROUP}{group.pk}")

    def update(
        self,
        resource_type: ResourceType,
        resource: Resource[Any],
        *,
        expected_version: str | None = None,
    ) -> Resource[Any]:
        resource_id = cast(str, resource.id)
        self._require(resource_type, resource_id, expected_version)
        if resource_type.name == "User":
            person_id = number_in(resource_id, PERSON)
            actions.change_person(person_id, _person(resource), by=self.actor)
        else:
            group_id = number_in(resource_id, GROUP)
            actions.change_group(group_id, _group(resource), by=self.actor)
        return self.get(resource_type, resource_id)

    def delete(
        self,
        resource_type: ResourceType,
        resource_id: str,
        *,
        expected_version: str | None = None,
    ) -> None:
        self._require(resource_type, resource_id, expected_version)
        if resource_type.name == "User":
            actions.delete_person(number_in(resource_id, PERSON), by=self.actor)
        else:
            actions.delete_group(number_in(resource_id, GROUP), by=self.actor)

    def _require(
        self, resource_type: ResourceType, resource_id: str, version: str | None
    ) -> None:
        stored = self.get(resource_type, resource_id).meta
        if version is not None and stored is not None and stored.version != version:
            raise PreconditionFailedException


def _resources(name: str, rows: QuerySet[Any]) -> Iterator[Resource[Any]]:
    return _people(rows) if name == "User" else _groups(rows)


def _people(rows: QuerySet[User]) -> Iterator[Resource[Any]]:
    return map(_MODELS["User"].model_validate, person_documents(rows))


def _groups(rows: QuerySet[ScimGroup]) -> Iterator[Resource[Any]]:
    return map(_MODELS["Group"].model_validate, group_documents(rows))


def _columns(kind: str, condition: Any) -> Q:
    """Return the condition that an index answers, for a name or id that must be equal; empty for other filters."""
    node = None if condition is None else condition.ast
    if not isinstance(node, Comparison) or node.op != CompareOperator.eq:
        return Q()
    value = node.value
    columns = {
        "User": {"username": "username__iexact", "externalid": "scim__external_id"},
        "Group": {"displayname": "name__iexact", "externalid": "external_id"},
    }
    column = columns[kind].get(str(node.attr_path).casefold())
    if not column or not isinstance(value, str):
        return Q()
    # No name is longer, or has characters that the database cannot hold.
    possible = len(value) <= MAX_NAME and clean_text(value) == value
    return Q(**{column: value}) if possible else Q(pk__in=[])


def _person(resource: Resource[Any]) -> actions.Person:
    stated: JsonDict = resource.model_dump()
    kept = {
        name: stated[name]
        for name in ("name", "displayName", "emails")
        if stated.get(name)
    }
    if len(canonical(kept)) > MAX_ATTRIBUTES:
        message = _("The names and addresses of a person have at most %(limit)d bytes.")
        raise Invalid(message % {"limit": MAX_ATTRIBUTES})
    return actions.Person(
        username=stated.get("userName") or "",
        email=primary_of(kept.get("emails", [])).get("value") or "",
        external_id=stated.get("externalId") or "",
        active=stated.get("active"),
        attributes=kept,
    )


def _group(resource: Resource[Any]) -> actions.Group:
    stated: JsonDict = resource.model_dump()
    try:
        people = [
            number_in(each.get("value"), PERSON) for each in stated.get("members", ())
        ]
    except Refusal:
        message = _("A member of this group is unknown. Create them first.")
        raise Invalid(message) from None
    return actions.Group(
        name=stated.get("displayName") or "",
        external_id=stated.get("externalId") or "",
        people=people,
    )


_PROVIDER = _provider()
_SERVICE = Service(_PROVIDER)
_MODELS: dict[str, Any] = {name: _PROVIDER.model_for(name) for name in KEPT}


def respond(
    request: HttpRequest, path: str, body: bytes, actor: KeyActor
) -> ScimResponse:
    """Respond to a request of a key for SCIM, and keep a refused change."""
    call = ScimRequest(
        method=cast(str, request.method),
        base_url=f"{settings.PUBLIC_URL}/scim/v2",
        path=path,
        query=request.GET.dict(),
        headers=request.headers,
        body=body,
    )
    storage = Storage(actor, writes=call.method not in READS)
    try:
        response = ScimHandler(_SERVICE, storage).handle(call)
    except SCIMException as error:
        response = _SERVICE.error_response(error)
        if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            # What the library does not support, which is no fault of the server.
            response = _SERVICE.error_response(InvalidValueException(detail=str(error)))
        if storage.writes:
            detail = str(error)
            actions.record_refusal(actor, call.method, path, response.status, detail)
    return response
