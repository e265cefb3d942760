"""WebSockets with invalid filters are closed like unknown ones."""

from __future__ import annotations

import pytest

from approvals.db.pool import run
from approvals.pages.consumers import NOT_FOUND
from tests.support.lines import SOON, cookie_of, dial
from tests.support.people import bob

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    "query", ["&".join(f"p{n}=1" for n in range(2000)), "&" * 15_000, "status=%ff", "q=%00"], ids=len
)
async def test_a_websocket_with_invalid_filters_is_closed_without_an_error(query):
    cookie = await run(lambda: cookie_of(bob()))
    page = dial(f"/ws/requests/?{query}", cookie=cookie)
    assert await page.connect(SOON) == (True, None)
    assert await page.closed_with() == NOT_FOUND
    await page.disconnect()
