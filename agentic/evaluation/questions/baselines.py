"""What simpler ways come to on the same questions: quoting the top hit, and one search with an answer."""

import secrets
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from agentic.core import prompts
from agentic.core.answer import Draft
from agentic.core.evidence import EvidenceItem
from agentic.core.fence import clean
from agentic.core.ports import ModelFault, Prompt, PromptTurn, ShownMessage
from agentic.core.rendering import render_everything
from agentic.core.replies import read_reply
from agentic.core.toolcall import ANSWER, FINAL_TOOLS
from agentic.core.verify import question_covered, verify
from agentic.evaluation.questions.asking import Setting, citations, first_hits
from agentic.evaluation.questions.cases import Case, Cited, Verdict, judge
from mailsearch.scope import Scope

# At least; a model that is given longer for a run may take as long here.
_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Compared:
    """The verdicts on one question of the ways beside the loop."""

    top_hit: Verdict
    one_search: Verdict


async def compare(case: Case, scope: Scope, setting: Setting) -> Compared:
    """Answer *case* in both ways from one search on its own words."""
    hits = await first_hits(case, scope, setting)
    return Compared(_top_hit(case, hits), await _one_search(case, hits, setting))


def _top_hit(case: Case, hits: tuple[EvidenceItem, ...]) -> Verdict:
    """The excerpt of the first hit, whatever it says."""
    for hit in hits[:1]:
        cited = [Cited(hit.message.head.rfc_message_id, excerpt.text, True) for excerpt in hit.excerpts]
        return judge(case, bool(cited), cited)
    return "refused"


async def _one_search(case: Case, hits: tuple[EvidenceItem, ...], setting: Setting) -> Verdict:
    """The model's answer from that search alone, verified like any other."""
    shown = tuple(ShownMessage(hit.label, hit.message, hit.excerpts) for hit in hits)
    mail, _ = render_everything(shown, setting.limits.result_characters, ZoneInfo("UTC"), secrets.randbelow)
    asked = f"{prompts.load('answer')}\nThe question: {clean(case.question)}"
    prompt = Prompt(
        phase="answer",
        turns=(PromptTurn("system", prompts.load("system")), PromptTurn("user", f"{mail}\n\n{asked}")),
        tools=FINAL_TOOLS,
        forced_tool=ANSWER,
        question=case.question,
        shown=shown,
        queries=(case.question,),
        now=datetime.now(UTC),
        timezone="UTC",
        session="baseline",
    )
    try:
        until = time.monotonic() + max(_SECONDS, setting.limits.max_seconds)
        reading = read_reply(await setting.model.reply(prompt, until), set())
    except ModelFault:
        return "refused"
    draft = reading.draft or Draft(insufficient=True)
    sources = {hit.label: hit.message for hit in hits}
    if draft.insufficient:
        return "refused"
    verification = verify(draft, sources)
    supported = any(sentence.support == "quote" for sentence in verification.kept)
    answered = supported and question_covered(case.question, verification, sources)
    return judge(case, answered, citations(verification, {hit.label: hit for hit in hits}))
