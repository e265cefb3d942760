"""The conformance table says what the tests show, and each of its cells is a test or a reason."""

from __future__ import annotations

from tests.contract.table import ABILITIES, GROUPS, PAGE, page, shown

PROTOCOLS = [protocol for group in GROUPS.values() for protocol in group]


def test_the_table_is_what_the_tests_show():
    assert PAGE.read_text() == page(), "python -m tests.contract.table writes it anew"


def test_every_ability_of_every_protocol_is_shown_by_a_test_or_has_a_reason():
    tested = {(each.protocol, each.ability) for each in shown()}
    reasons = {(protocol.name, ability) for protocol in PROTOCOLS for ability in protocol.cannot}
    assert tested | reasons == {(protocol.name, ability) for protocol in PROTOCOLS for ability in ABILITIES}
    assert tested & reasons == set()
