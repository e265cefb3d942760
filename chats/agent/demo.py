"""The demo's support agent: its tools, and the conversations that the scripted provider plays for it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from approvals.json_types import JsonDict
from chats.agent.agent import Agent
from chats.agent.interactive import ask_human, ask_user
from chats.agent.script import Conversation, Say, Use
from chats.agent.tools import ToolContext, ToolError, tool

REFUND_LIMIT = 100
PAYMENT_SECONDS = 3600


@tool(idempotent=True, timeout=10)
def getWeather(
    city: Annotated[str, Field(min_length=1, max_length=100)],
) -> JsonDict:
    """Today's weather in a city."""
    return {
        "city": city,
        "temperature": 12 + len(city) % 10,
        "sky": ("clear", "cloudy", "rain")[len(city) % 3],
    }


@tool(needs_approval=lambda value: value["amount"] >= REFUND_LIMIT, priority="high")
def issueRefund(
    amount: Annotated[float, Field(gt=0, le=100_000)],
    orderId: Annotated[str, Field(min_length=1, max_length=50)],
    context: ToolContext,
) -> JsonDict:
    """Pay money back for an order. From 100 euros upwards a person has to approve it."""
    return {
        "orderId": orderId,
        "amount": amount,
        "status": "refunded",
        "executions": context.executions,
    }


class Transaction(BaseModel):
    """Who gets what, and how."""

    model_config = ConfigDict(extra="forbid")
    amount: Annotated[float, Field(gt=0, le=1_000_000)]
    recipient: Annotated[str, Field(min_length=1, max_length=200)]
    type: Literal["transfer", "direct-debit", "card"]


@tool(needs_approval=True, priority="high", deadline=PAYMENT_SECONDS)
def sendPayment(transactionDetails: Transaction) -> JsonDict:
    """Send money from the shop's account. A person has to approve it within an hour."""
    return {"status": "sent", **transactionDetails.model_dump()}


@tool(idempotent=True)
def lookUpInvoice(number: str) -> JsonDict:
    """An invoice by its number. The demo's archive is always down."""
    raise ToolError(
        f"The archive does not answer, so invoice {number} cannot be read. Try again later."
    )


cashier = Agent(
    name="cashier",
    title="Cashier",
    system="You are the cashier of a web shop. Pay what you are told to pay with sendPayment, and report the result.",
    tools=(sendPayment,),
    script=(
        Conversation(
            r"pay (?P<recipient>.+?) (?P<amount>\d+(?:\.\d{1,2})?)(?![.,]?\d)",
            [
                [
                    Say("I prepare the payment."),
                    Use(
                        "sendPayment",
                        {
                            "transactionDetails": {
                                "amount": "{amount:number}",
                                "recipient": "{recipient}",
                                "type": "transfer",
                            }
                        },
                    ),
                ],
                [Say("The payment to {recipient}: {answers}")],
            ],
        ),
    ),
)

SHIPPING = {
    "question": "Which delivery do you prefer?",
    "options": [
        {"id": "standard", "label": "Standard", "description": "3 to 5 days, free"},
        {"id": "express", "label": "Express", "description": "Tomorrow, 9 euros"},
    ],
    "multiSelect": False,
    "fieldName": "delivery",
}
EXTRAS = {
    "question": "What should we add?",
    "options": [
        {"label": "Gift wrap"},
        {"label": "Greeting card"},
        {"label": "Nothing"},
    ],
    "multiSelect": True,
    "fieldName": "extras",
}
LONG = (
    "This answer takes its time, so that you can watch it arrive word by word, close the page, come back and find it whole, "
    "or press stop in the middle of it and see what is kept."
)

SCRIPT = (
    Conversation(
        r"^\s*approve refund\b",
        [
            [
                Say("I will refund the order once someone approves it."),
                Use("issueRefund", {"amount": 120, "orderId": "A-1001"}),
            ],
            [Say("The refund is settled: {answers}")],
        ],
        example="approve refund",
    ),
    Conversation(
        r"^\s*approve payment\b",
        [
            [
                Say("I will transfer 1000 euros to John Doe once someone approves it."),
                Use(
                    "sendPayment",
                    {
                        "transactionDetails": {
                            "amount": 1000,
                            "recipient": "John Doe",
                            "type": "transfer",
                        }
                    },
                ),
            ],
            [Say("The payment is settled: {answers}")],
        ],
        example="approve payment",
    ),
    Conversation(
        r"refund (?:order )?+#?(?P<order>[\w-]++)(?! *(?:eur|€))\D+?(?P<amount>\d+(?:[.,]\d{1,2})?)(?![.,]?\d)",
        [
            [
                Say("Let me refund order {order}."),
                Use("issueRefund", {"amount": "{amount:number}", "orderId": "{order}"}),
            ],
            [Say("That is what happened with order {order}: {answers}")],
        ],
        example="Please refund order 4711, 250 euros",
    ),
    Conversation(
        r"^\s*ask twice\b",
        [
            [Say("Two things, one after the other."), Use("askUser", SHIPPING)],
            [Say("Noted: {answers}. And now the second."), Use("askUser", EXTRAS)],
            [Say("Thank you, I have both: {answers} it is.")],
        ],
        example="ask twice",
    ),
    Conversation(
        r"^\s*ask parallel\b",
        [
            [
                Say("Two questions at once."),
                Use("askUser", SHIPPING),
                Use("askUser", EXTRAS),
            ],
            [Say("Thank you. You said: {answers}.")],
        ],
        example="ask parallel",
    ),
    Conversation(
        r"^\s*ask slow\b",
        [
            [Say("One question first."), Use("askUser", SHIPPING)],
            [Say("You chose {answers}. " + LONG, pause=0.05)],
        ],
        example="ask slow",
    ),
    Conversation(
        r"^\s*ask mixed\b",
        [
            [
                Say(
                    "I look up the weather, ask you, and propose a refund, all at once."
                ),
                Use("getWeather", {"city": "Hamburg"}),
                Use("askUser", SHIPPING),
                Use("issueRefund", {"amount": 240, "orderId": "A-2002"}),
            ],
            [Say("All three are settled: {answers}")],
        ],
        example="ask mixed",
    ),
    Conversation(
        r"^\s*(?:ask human|escalate)\b",
        [
            [
                Say("I would rather ask a person about that."),
                Use(
                    "askHuman",
                    {
                        "question": "A customer wants to cancel after the parcel was sent. What should I tell them?",
                        "priority": "high",
                        "suggestions": [
                            "Offer a free return",
                            "Ask them to refuse the parcel",
                        ],
                        "context": {
                            "customer": "Jane Doe",
                            "orderId": "A-3003",
                            "sent": "yesterday",
                        },
                    },
                ),
            ],
            [Say("I was told: {answers}")],
        ],
        example="ask human",
    ),
    Conversation(
        r"^\s*ask\b",
        [
            [Say("I need to know one thing before I go on."), Use("askUser", SHIPPING)],
            [Say("Thank you, you chose {answers}. I will arrange that.")],
        ],
        example="ask",
    ),
    Conversation(
        r"^\s*fail tool\b|invoice (?P<number>[\w-]+)",
        [
            [Say("I look into the archive."), Use("lookUpInvoice", {"number": "R-77"})],
            [Say("I could not read the invoice. {answers}")],
        ],
        example="fail tool",
    ),
    Conversation(
        r"^\s*weather\b(?!\s+in\b)",
        [
            [Say("One moment."), Use("getWeather", {"city": "Berlin"})],
            [Say("The weather in Berlin: {answers}")],
        ],
        example="weather",
    ),
    Conversation(
        r"weather in (?P<city>[^\W\d_][\w .'-]{0,60})",
        [
            [Say("One moment."), Use("getWeather", {"city": "{city}"})],
            [Say("The weather in {city}: {answers}")],
        ],
        example="What is the weather in Paris",
    ),
    Conversation(
        r"^\s*approve nested payment\b",
        [
            [Say("I ask the cashier."), Use("cashier", {"task": "Pay ACME Ltd 5000"})],
            [Say("The cashier says: {answers}")],
        ],
        example="approve nested payment",
    ),
    Conversation(r"^\s*slow\b", [[Say(LONG, pause=0.05)]], example="slow"),
    Conversation(
        r"^\s*(?:hello|hi|good (?:morning|evening|day))\b",
        [
            [
                Say(
                    "Hello! I can look up the weather, refund an order, and ask people when I need them."
                )
            ]
        ],
        example="hello",
    ),
)

support = Agent(
    name="support",
    title="Support",
    version="1",
    system=(
        "You are the support agent of a web shop. Use the tools; refunds from 100 euros upwards, and payments, are approved "
        "by a person. "
        "Ask the user with askUser when something is unclear, and a colleague with askHuman when you may not decide."
    ),
    tools=(
        getWeather,
        issueRefund,
        sendPayment,
        lookUpInvoice,
        ask_user,
        ask_human,
        cashier.as_tool(),
    ),
    script=SCRIPT,
)
