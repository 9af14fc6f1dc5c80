"""The proof of the deletion twins: with a question's mail gone, no message left holds its gold words or its facts.

Rows are those of `questions`. For every answerable one the mail of its twin is deleted as for the question, and all
that can still be read is looked at twice: as the store has it, and as the message came, read anew by the standard
library, so that a fault in how mail is read here can't hide a copy.
"""

import asyncio
import email
import html
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.header import decode_header, make_header
from email.message import Message as Mail
from pathlib import Path
from typing import Any

from agentic.evaluation.questions.cases import Case, read
from agentic.evaluation.questions.corpora import Corpora, load
from agentic.evaluation.questions.stating import Paragraphs, Stating
from agentic.evaluation.questions.twins import Gone
from agentic.evaluation.remote import at_work
from agentic.evaluation.report import BadInput, Gate, Report
from agentic.progress import StageProgress
from agentic.workers import in_worker
from mailsearch import keeping
from mailsearch.models import RawMessage

_TAG = re.compile(r"<[^>]*>")
# What ends a paragraph where tags are left out.
_BLOCK = re.compile(r"(?i)</(?:p|div|tr|li|h[1-6]|td)>|<br[^>]*>")


@dataclass(frozen=True, slots=True)
class _Proved:
    """One twin: how many messages it lacks, and the Message-IDs of those left that say the answer."""

    case: Case
    lacks: int
    left: tuple[str, ...]


def run(file: Path, options: Mapping[str, Any]) -> Report:
    """Look at the twins of all answerable questions of *file* over the mail below `options["mail"]`; BadInput."""
    mail = options.get("mail")
    if mail is None or not Path(mail).is_dir():
        raise BadInput("--mail must name the folder that holds the mail")
    rows = read(file, options.get("limit"), int(options.get("seed") or 0))
    cases = [case for case in rows if case.answerable]
    with StageProgress(sys.stderr) as progress:
        # Nothing is searched for, so nothing has to be embedded.
        corpora = load(Path(mail), sorted({case.corpus for case in cases}), progress.tell, vectors=False)
        proved = asyncio.run(_prove_all(cases, corpora, progress))
    return _report(file, proved)


async def _prove_all(cases: list[Case], corpora: Corpora, progress: StageProgress) -> list[_Proved]:
    proved = []
    async with at_work(None):
        gone = Gone(corpora)
        mail = {corpus: await _mail(corpora, corpus) for corpus in {case.corpus for case in cases}}
        for number, case in enumerate(cases, 1):
            lacking = await gone.messages(case)
            async with corpora.without(lacking):
                there = await in_worker(corpora.visible, case.corpus)
            stating = Stating(case)
            left = [name for pk, (name, texts) in mail[case.corpus].items() if pk in there and stating.among(texts)]
            proved.append(_Proved(case, len(mail[case.corpus].keys() - there), tuple(left)))
            progress.tell("twins", number, len(cases))
    return proved


async def _mail(corpora: Corpora, corpus: str) -> dict[int, tuple[str, list[Paragraphs]]]:
    """Message-ID and all texts of each message, from the store and from the mail itself."""
    stored = await corpora.texts(corpus)
    came = await in_worker(_originals, corpora, corpus)
    mail = {}
    for number, message in stored.items():
        texts = [*(part.text for part in message.parts), message.hidden_text, *came.get(number, ())]
        mail[number] = (message.head.rfc_message_id, [Paragraphs.of(text) for text in texts if text])
    return mail


def _originals(corpora: Corpora, corpus: str) -> dict[int, list[str]]:
    scope = corpora.scope(corpus)
    with scope.reading_orm():
        rows = RawMessage.objects.filter(message__folder__in=scope.folder_ids).values_list("message_id", "data")
        return {number: list(_said(email.message_from_bytes(keeping.came(bytes(data))))) for number, data in rows}


def _said(mail: Mail) -> Iterator[str]:
    """Subjects and texts of a message and of those inside it. Files of other kinds are the store's to read."""
    for part in mail.walk():
        if part["subject"]:
            yield _decoded(str(part["subject"]))
        if part.get_content_maintype() == "text":
            yield _text(part)


def _decoded(subject: str) -> str:
    try:
        return str(make_header(decode_header(subject)))
    except (LookupError, ValueError):
        return subject


def _text(part: Mail) -> str:
    payload = part.get_payload(decode=True)
    data = payload if isinstance(payload, bytes) else b""
    try:
        text = data.decode(part.get_content_charset("utf-8"), "replace")
    except LookupError:
        text = data.decode("utf-8", "replace")
    if part.get_content_subtype() != "html":
        return text
    return html.unescape(_TAG.sub("", _BLOCK.sub("\n\n", text)))


def _report(file: Path, proved: list[_Proved]) -> Report:
    left = [one for one in proved if one.left]
    whole = [one for one in proved if not one.lacks]
    differ = tuple(one.case.case_id for one in proved if one.left or not one.lacks)
    return Report(
        subject="twins",
        file=str(file),
        n=len(proved),
        agree=len(proved) - len(differ),
        differ=differ,
        gates={"left": Gate(sum(len(one.left) for one in left), 0), "nothing_deleted": Gate(len(whole), 0)},
        figures={
            "deleted": sum(one.lacks for one in proved),
            "most_deleted": max((one.lacks for one in proved), default=0),
        },
        lines=tuple(f"{one.case.case_id}: {name} still says it" for one in left for name in one.left),
    )
