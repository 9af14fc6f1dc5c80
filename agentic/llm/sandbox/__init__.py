"""The sandbox's model: fixed questions and what it replies to each, so that clients can be tested without a model."""

from agentic.llm.sandbox.model import NAME, SandboxModel
from agentic.llm.sandbox.questions import QUESTIONS, FixedQuestion, find

__all__ = ["NAME", "QUESTIONS", "FixedQuestion", "SandboxModel", "find"]
