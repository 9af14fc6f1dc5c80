"""Tantivy, in this process and in memory, over the documents of one scope: what our keyword search stands beside."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import tantivy

FIELDS = ("subject", "people", "body", "attachments")
_SHOWN = 20
_EXCERPT = 300


@dataclass(frozen=True, slots=True)
class Document:
    """A message as both indexes have it."""

    name: str
    subject: str
    people: str
    body: str
    attachments: str = ""


class Index:
    """An index in memory. *tokenizer* is one of tantivy's: `default`, or `en_stem`, which stems English."""

    def __init__(self, documents: Iterable[Document], tokenizer: str = "default") -> None:
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("name", stored=True, tokenizer_name="raw")
        for field in FIELDS:
            builder.add_text_field(field, stored=True, tokenizer_name=tokenizer)
        self._schema = builder.build()
        self._index = tantivy.Index(self._schema)
        writer = self._index.writer(heap_size=256_000_000, num_threads=1)
        for one in documents:
            values = {field: getattr(one, field) for field in ("name", *FIELDS)}
            writer.add_document(tantivy.Document(**values))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()
        self._searcher = self._index.searcher()

    def find(self, text: str, limit: int = _SHOWN) -> int:
        """Search alone: how many match in all, with the best *limit* ranked."""
        found: Any = self._searcher.search(self._query(text), limit, count=True)
        return int(found.count)

    def page(self, text: str, limit: int = _SHOWN) -> list[tuple[str, str, str]]:
        """Name, subject and an excerpt with marks of the best, as a first page shows them."""
        query = self._query(text)
        snippets = tantivy.SnippetGenerator.create(self._searcher, query, self._schema, "body")
        snippets.set_max_num_chars(_EXCERPT)
        shown = []
        for _, address in self._searcher.search(query, limit, count=True).hits:
            found = self._searcher.doc(address)
            shown.append((found["name"][0], found["subject"][0], snippets.snippet_from_doc(found).to_html()))
        return shown

    def best(self, text: str, limit: int = 10) -> Sequence[str]:
        """Names of the best, for their ranks alone."""
        found = self._searcher.search(self._query(text), limit).hits
        return [self._searcher.doc(address)["name"][0] for _, address in found]

    def _query(self, text: str) -> tantivy.Query:
        # Any text is a query here too: what its parser can't take is passed over.
        return self._index.parse_query_lenient(text, list(FIELDS))[0]
