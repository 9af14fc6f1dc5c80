"""The review queue: what the verifier kept and removed, judged by people; and the rates that their samples give."""

from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from agentic.models import Note, SampledNote, Sentence
from agentic.reviewers import Right
from agentic.web.pages import drawing, exports, rates, reviewing
from agentic.web.pages.filters import back, text_of, without
from agentic.web.pages.opening import opened, shown
from agentic.web.pages.readers import Reader
from agentic.workers import in_worker
from mailsearch.sessions import Binding, bound

_LONGEST_NOTE = 2000


@require_safe
@opened(Right.AUDIT)
async def review(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """A page of the queue; `?sample=new` draws a random sample under an address of its own."""
    sent = request.GET.dict()
    if sent.get("sample") == "new":
        sample = drawing.fresh(await in_worker(reviewing.newest, reader))
        kept = without(sent, "sample", "reviewed", "before")
        return HttpResponseRedirect(f"{reverse('review')}?{kept}&{urlencode({'sample': str(sample)})}")
    queue = await in_worker(reviewing.load, reader, sent)
    context = {
        "queue": queue,
        "walked": f"{reviewing.WALKED:,}",
        "choices": queue.choices,
        "model": text_of(sent, "model"),
        "version": text_of(sent, "version"),
        "files": exports.files(reader, "sentences", text_of(sent, "tenant")),
        "back": urlencode({name: value for name, value in sent.items() if value}),
        "draw": without(sent, "sample", "reviewed", "before", "q"),
        "leave": without(sent, "sample"),
    }
    return shown(request, reader, "review.html", context)


@require_safe
@opened(Right.AUDIT)
async def review_rates(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """How often the verifier was wrong, by the samples."""
    found = await in_worker(rates.load, reader.audits)
    return shown(request, reader, "review_rates.html", {"rates": found})


@require_POST
@opened(Right.AUDIT)
async def verdict(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Add a verdict; one that stands there is never changed."""
    sent = request.POST
    number, said = sent.get("sentence", ""), sent.get("verdict", "")
    if not (number.isascii() and number.isdigit() and len(number) < 18) or said not in reviewing.VERDICTS:
        raise Http404
    sample = drawing.read(sent.get("sample", "")[:60])
    text = sent.get("note", "").replace("\0", "")[:_LONGEST_NOTE].strip()
    if not await in_worker(add, reader, int(number), said, text, str(sample or "")):
        raise Http404
    following = sent.get("next", "")
    place = f"#s{following}" if following.isascii() and following.isdigit() else ""
    return HttpResponseRedirect(f"{reverse('review')}?{back(sent)}{place}")


def add(reader: Reader, sentence: int, said: str, text: str, sample: str) -> bool:
    """Write a verdict down; False where the reader may not judge that sentence."""
    with bound(Binding(audit=reader.audits)):
        row = Sentence.objects.filter(pk=sentence, tenant__in=reader.audits).first()
        if row is None:
            return False
        note: Note = Note.objects.model(
            tenant_id=row.tenant_id, author_id=reader.user.pk, sentence=row, verdict=said, text=text
        )
        note.sample = sample
        note.save()
        if sample:
            SampledNote.objects.create(note=note, tenant_id=row.tenant_id, sample=sample)
    return True
