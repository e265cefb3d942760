"""A stand-in of Microsoft Teams on loopback: log-in, keys, Bot Connector, and people who click cards.

    with Teams("https://desk.example.org/api/teams/messages", post=by_django(client)) as teams:
        ops = teams.channel("ops")
        person = teams.person("bob")
        person.click(ops.messages[0], "Approve")

It objects to what Teams would refuse; leaving the block fails while objections are left.
"""

from tests.support.teams.people import Person
from tests.support.teams.server import Teams

__all__ = ["Person", "Teams"]
