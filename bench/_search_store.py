"""The store that searches are measured in: real mail in one tenant, recombined mail in five others of skewed size.

Real mail is that of `sample/`, and of `../shared/cases/mail` where that is there. Rows are written as an import writes
them, but for the parser. Vectors of recombined mail are mixtures of the vectors of real passages.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import psycopg
from django.db import connection

from bench._recombined import Paragraph, messages
from mailsearch.embeddings import Embedder, Vectors, configured_embedder
from mailsearch.ingest import counting, embedding, mime, statistics, store
from mailsearch.ingest.drafts import Draft
from mailsearch.ingest.lexemes import Stems
from mailsearch.ingest.pipeline import ingest
from mailsearch.ingest.sources import open_source
from mailsearch.models import Folder, Mailbox, Tenant
from mailsearch.scope import Scope
from mailsearch.sessions import Binding, bound

PROJECT = Path(__file__).resolve().parents[1]
SAMPLE = PROJECT / "sample" / "mail"
SHARED = PROJECT.parent / "shared" / "cases"
REAL = "real"
# Tenants of recombined mail: share of all, and number of mailboxes.
TENANTS = {"large": (0.6, 4), "middle": (0.25, 3), "small": (0.1, 2), "little": (0.04, 1), "least": (0.01, 1)}
# Real passages that are embedded at most: embedding is most of what making the store costs.
MOST_EMBEDDED = 5_000
_BATCH = 1_000
_SHORTEST, _LONGEST = 60, 700
_INDEX = "vector_near_512"


def scope_of(slug: str) -> Scope:
    """All mail of a tenant."""
    tenant = Tenant.objects.get(slug=slug)
    return Scope(tenant.pk, frozenset(Folder.objects.filter(tenant=tenant).values_list("id", "mailbox_id")))


def take_real_mail() -> None:
    """The real mail, through the whole import."""
    tenant, _ = Tenant.objects.get_or_create(slug=REAL, defaults={"name": REAL})
    sources = {f"sample-{folder.name}": folder for folder in sorted(SAMPLE.iterdir()) if folder.is_dir()}
    if SHARED.is_dir():
        sources |= {"shared-mbox": SHARED / "mail" / "mbox", "shared-maildir": SHARED / "mail" / "maildir"}
    for slug, folder in sources.items():
        mailbox, _ = Mailbox.objects.get_or_create(tenant=tenant, slug=slug)
        ingest(open_source(folder), mailbox=mailbox)


def paragraphs() -> list[Paragraph]:
    """The paragraphs of the sample's mail."""
    found: dict[str, Paragraph] = {}
    for path in sorted(SAMPLE.rglob("*.eml")):
        parsed = mime.parse(path.read_bytes(), read_attachments=False)
        for block in parsed.body.blocks:
            text = parsed.body.text[block.start : block.end].strip()
            if _SHORTEST < len(text) < _LONGEST:
                found.setdefault(text, Paragraph(text, parsed.language))
    return list(found.values())


def take_recombined_mail(count: int) -> None:
    """*count* messages over all tenants."""
    texts, stems = paragraphs(), Stems(store.ask_stems)
    for slug, (share, boxes) in TENANTS.items():
        tenant, _ = Tenant.objects.get_or_create(slug=slug, defaults={"name": slug})
        for number in range(boxes):
            mailbox, _ = Mailbox.objects.get_or_create(tenant=tenant, slug=f"box-{number}")
            made = messages(f"{slug}-{number}", round(count * share / boxes), texts, seed=7)
            _write(mailbox, made, stems)
    store.tidy_index()
    for mailbox in Mailbox.objects.all():
        counting.count_new(mailbox)
    statistics.refresh()


def _write(mailbox: Mailbox, made: Iterable[Draft], stems: Stems) -> None:
    remaining = iter(made)
    while batch := list(islice(remaining, _BATCH)):
        folders = {path: _folder(mailbox, path) for path in {one.mail.folder for one in batch}}
        store.write(mailbox, folders, batch, stems)


def _folder(mailbox: Mailbox, path: str) -> int:
    return int(Folder.objects.get_or_create(mailbox=mailbox, path=path, defaults={"tenant": mailbox.tenant})[0].pk)


class Remembering:
    """An embedder that keeps what it has embedded in a file, for stores that are made anew."""

    def __init__(self, kept: Path) -> None:
        self._inner: Embedder = configured_embedder()
        self._kept = kept
        self._known: dict[str, np.ndarray] = {}
        if kept.exists():
            with np.load(kept) as found:
                self._known = dict(zip(found["texts"].tolist(), found["vectors"], strict=True))

    @property
    def name(self) -> str:
        """See mailsearch.embeddings.Embedder."""
        return self._inner.name

    @property
    def dimensions(self) -> int:
        """See mailsearch.embeddings.Embedder."""
        return self._inner.dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        """See mailsearch.embeddings.Embedder."""
        keys = [hashlib.sha256(text.encode()).hexdigest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if missing:
            self._known.update(zip(missing, self._inner.embed(list(missing.values())), strict=True))
        return np.stack([self._known[key] for key in keys])

    def keep(self) -> None:
        """Write the file."""
        unfinished = self._kept.with_suffix(".part.npz")
        np.savez(unfinished, texts=np.array(list(self._known)), vectors=np.stack(list(self._known.values())))
        os.replace(unfinished, self._kept)


def embed(owner: str, kept: Path) -> None:
    """Vectors for real passages, and mixtures of them for the others. *owner* may drop and make indexes."""
    embedder = Remembering(kept)
    real = Tenant.objects.get(slug=REAL)
    embedding.embed_pending(real, embedder=embedder, limit=MOST_EMBEDDED)
    embedder.keep()
    mix(owner, [Tenant.objects.get(slug=slug) for slug in TENANTS], embedder.name, of_passages(real))


def mix(owner: str, tenants: Iterable[Tenant], model: str, vectors: Vectors) -> None:
    """Mixtures of *vectors* for all passages of *tenants* that have none. *owner* may drop and make indexes."""
    draw = np.random.default_rng(7)
    with psycopg.connect(owner, autocommit=True) as conn:
        # A graph over so many vectors is made in a tenth of the time in one go.
        (definition,) = conn.execute("SELECT pg_get_indexdef(%s::regclass)", [_INDEX]).fetchone() or ("",)
        conn.execute(f"DROP INDEX {_INDEX}".encode())
        for tenant in tenants:
            _mix(tenant, model, vectors, draw)
        conn.execute("SET maintenance_work_mem = '1GB'")
        conn.execute(str(definition).encode())
        conn.execute("ANALYZE mailsearch_passagevector")


def _mix(tenant: Tenant, model: str, vectors: Vectors, draw: np.random.Generator) -> None:
    waiting = _unembedded(tenant)
    while batch := list(islice(waiting, 5_000)):
        one, other = (vectors[draw.integers(len(vectors), size=len(batch))] for _ in range(2))
        share = draw.uniform(0.5, 0.9, size=(len(batch), 1))
        mixed = share * one + (1 - share) * other + draw.normal(scale=0.01, size=one.shape)
        mixed /= np.linalg.norm(mixed, axis=1, keepdims=True)
        pending = [embedding._Pending(passage, 0, 0, False, "") for passage in batch]
        embedding._store(tenant, model, pending, mixed.astype(np.float32))


def _unembedded(tenant: Tenant) -> Iterator[int]:
    with bound(_binding(tenant)), connection.cursor() as cursor:
        cursor.execute("SELECT id FROM mailsearch_passage WHERE tenant_id = %s ORDER BY id", [tenant.pk])
        return iter([passage for (passage,) in cursor.fetchall()])


def of_passages(tenant: Tenant) -> Vectors:
    """The vectors of a tenant's passages, in the passages' order."""
    with bound(_binding(tenant)), connection.cursor() as cursor:
        cursor.execute("SELECT embedding::text FROM mailsearch_passagevector ORDER BY passage_id")
        rows = [np.fromstring(text.strip("[]"), sep=",", dtype=np.float32) for (text,) in cursor.fetchall()]
    return np.stack(rows)


def _binding(tenant: Tenant) -> Binding:
    return Binding(tenant.pk, frozenset(Mailbox.objects.filter(tenant=tenant).values_list("id", flat=True)))
