"""Two agents for HITL_AGENTS: `baker` acts and asks above a threshold; `planner` gets a plan approved before it acts."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from bakery.models import Order
from chats.agent.agent import Agent
from chats.agent.interactive import ask_user
from chats.agent.script import Conversation, Say, Use
from chats.agent.tools import Question, Tool, ToolContext, ToolError, tool

PRICE = Decimal("1.20")
THRESHOLD = 100


@tool(idempotent=True, timeout=5)
async def flour_price(kilograms: Annotated[int, Field(gt=0, le=10_000)]) -> str:
    """What the mill asks for that much flour, in euros."""
    await asyncio.sleep(0)  # a real tool would call the mill over the network
    return f"{PRICE * kilograms:.2f}"


@tool(
    needs_approval=lambda value: PRICE * value["kilograms"] >= THRESHOLD,
    idempotent=True,
    priority="high",
    deadline=24 * 3600,
)
def order_flour(
    kilograms: Annotated[int, Field(gt=0, le=10_000)], context: ToolContext
) -> dict[str, Any]:
    """Order flour. From 100 euros upwards a person approves it, within a day."""
    order, fresh = Order.objects.get_or_create(
        tool_call_id=context.tool_call_id,
        defaults={"kilograms": kilograms, "price": PRICE * kilograms},
    )
    return {
        "order": order.pk,
        "kilograms": order.kilograms,
        "price": str(order.price),
        "ordered_now": fresh,
    }


@tool
def bake(loaves: Annotated[int, Field(gt=0)]) -> str:
    """Bake bread from what is ordered."""
    flour = sum(Order.objects.values_list("kilograms", flat=True))
    if flour < loaves:
        raise ToolError(
            f"{loaves} loaves need {loaves} kg of flour, and there are {flour}. Order some first."
        )
    return f"{loaves} loaves are in the oven"


class ConfirmPlan(BaseModel):
    """The plan, step by step."""

    model_config = ConfigDict(extra="forbid")
    steps: Annotated[list[str], Field(min_length=1, max_length=20)]


def _confirm(plan: ConfirmPlan) -> Question:
    return Question(
        title="Shall I go ahead with this plan?",
        message="\n".join(
            f"{place}. {step}" for place, step in enumerate(plan.steps, 1)
        ),
        suggestions=["Go ahead", "Not like this"],
        timeout_ms=2 * 3600 * 1000,
        has_default=True,
        default="Not like this",
    )


#: An interactive tool has a schema and a question, and no function. After two hours the default is the answer.
confirm_plan = Tool(
    name="confirm_plan",
    description="Show the plan and wait for a yes.",
    input_model=ConfirmPlan,
    ask=_confirm,
)

baker = Agent(
    name="baker",
    title="Baker",
    system="You run a bakery. Look up prices before you order; order only what is needed.",
    tools=(flour_price, order_flour, bake),
    script=(
        Conversation(
            r"order (?P<kilograms>\d+) kilos",
            [
                [
                    Say("I ask for the price."),
                    Use("flour_price", {"kilograms": "{kilograms:number}"}),
                ],
                [
                    Say("It costs {results[0]} euros."),
                    Use("order_flour", {"kilograms": "{kilograms:number}"}),
                ],
                [Say("That is settled: {answers}")],
            ],
            example="order 200 kilos",
        ),
    ),
)

TRAY = {
    "question": "One tray or two?",
    "options": [{"label": "One"}, {"label": "Two"}],
    "multiSelect": False,
    "fieldName": "trays",
}
planner = Agent(
    name="planner",
    title="Planner",
    system="First make a plan and confirm it with confirm_plan. Then carry it out; ask with askUser when a step is unclear.",
    tools=(confirm_plan, ask_user, order_flour, bake),
    script=(
        Conversation(
            r"bake for the market",
            [
                [
                    Say("Here is what I would do."),
                    Use(
                        "confirm_plan",
                        {"steps": ["Order 40 kilos of flour", "Bake 40 loaves"]},
                    ),
                ],
                [Say("You said: {answers}."), Use("order_flour", {"kilograms": 40})],
                [Say("The flour is ordered."), Use("askUser", TRAY)],
                [Say("{answers}, then."), Use("bake", {"loaves": 40})],
                [Say("Done: {answers}.")],
            ],
            example="bake for the market",
        ),
    ),
)
