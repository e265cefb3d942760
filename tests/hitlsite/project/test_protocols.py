"""The conformance table agrees with the tests, and each of its cells is a test or a reason."""

from __future__ import annotations

from tests.contract.table import PAGE, TABLES, page, shown

CELLS = [(protocol, ability) for _, protocols, abilities in TABLES for protocol in protocols for ability in abilities]


def test_the_table_is_what_the_tests_show():
    assert PAGE.read_text() == page(), "python -m tests.contract.table writes it anew"


def test_every_ability_of_every_protocol_is_shown_by_a_test_or_has_a_reason():
    tested = {(each.protocol, each.ability) for each in shown()}
    reasons = {(protocol.name, ability) for protocol, _ in CELLS for ability in protocol.cannot}
    assert tested | reasons == {(protocol.name, ability) for protocol, ability in CELLS}
    assert tested & reasons == set()
