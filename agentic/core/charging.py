"""What a call of a model costs: a step where a reply arrived, and its tokens either way."""

import asyncio

from agentic.core.budget import Budget
from agentic.core.ports import ModelFault, Reply


def charged(call: asyncio.Task[Reply], budget: Budget) -> Reply | ModelFault:
    """What came of a finished *call*, charged to *budget*: a step where a reply arrived, understood or not."""
    try:
        reply = call.result()
    except ModelFault as fault:
        if fault.charged:
            budget.charge()
        budget.pay(fault.usage)
        return fault
    budget.charge()
    budget.pay(reply.usage)
    return reply
