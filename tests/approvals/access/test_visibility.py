"""Keys of people who see the same rows, or a request in the same way."""

from __future__ import annotations

from approvals.access.rights import ADMINISTER, DECIDE, IGNORE_SCOPES, VIEW
from approvals.access.scopes import NOWHERE
from approvals.access.standing import Standing
from approvals.access.visibility import viewer_key, visibility_key


def person(pk: int, *rights: str, limited: bool = False) -> Standing:
    reach = NOWHERE if limited else None
    return Standing(pk=pk, is_active=True, rights=frozenset(rights), reach=reach)


def test_people_who_see_everything_share_their_rows_and_others_do_not():
    viewers = [
        person(1, DECIDE),
        person(2, VIEW, IGNORE_SCOPES),
        person(3, DECIDE, limited=True),
        person(4, VIEW, limited=True),
        person(5, ADMINISTER),
        person(6),
    ]
    assert [visibility_key(viewer) for viewer in viewers] == [None, None, 3, 4, 5, 6]


def test_people_with_the_same_rights_share_a_request_that_names_neither_of_them():
    assert viewer_key(person(1, DECIDE), {3, None}) == viewer_key(person(2, DECIDE, VIEW), {4})
    assert viewer_key(person(1, VIEW), ()) == viewer_key(person(2, VIEW), ())


def test_nobody_else_shares_a_request_with_people_that_it_names_or_who_see_only_some():
    keys = [
        viewer_key(person(1, DECIDE), ()),
        viewer_key(person(2, VIEW), ()),
        viewer_key(person(3, DECIDE), {3}),
        viewer_key(person(4, DECIDE), {3, 4}),
        viewer_key(person(5, VIEW, limited=True), ()),
        viewer_key(person(6), ()),
    ]
    assert len(set(keys)) == len(keys)
