"""The model of languages laid out in a folder says what it says unpacked."""

from pathlib import Path

import pytest

from mailsearch.ingest import language_model

LANGUAGES = ["da", "de", "en", "fi", "sv"]
TEXTS = ("Vi ses i morgen kl. 14.", "Nähdään huomenna kello kaksi.", "Vi hörs på måndag.", "See you soon", "…")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    (folder / "language-model-0-old").mkdir()
    language_model.lay_out(LANGUAGES, folder)
    return folder


def test_the_model_says_the_same_laid_out_and_unpacked(folder: Path) -> None:
    unpacked = language_model.identifier(LANGUAGES)
    laid_out = language_model.identifier(LANGUAGES, folder)
    assert [laid_out.rank(text) for text in TEXTS] == [unpacked.rank(text) for text in TEXTS]
    assert [laid_out.classify(text)[0] for text in TEXTS[:3]] == ["da", "fi", "sv"]


def test_one_model_is_kept_and_laid_out_once(folder: Path) -> None:
    (place,) = folder.iterdir()
    before = {part.name: part.stat().st_mtime_ns for part in place.iterdir()}
    language_model.lay_out(LANGUAGES, folder)
    assert [one.name for one in folder.iterdir()] == [place.name]
    assert {part.name: part.stat().st_mtime_ns for part in place.iterdir()} == before


def test_a_damaged_model_is_passed_over(folder: Path) -> None:
    (place,) = folder.iterdir()
    priors = place / "priors"
    whole = priors.read_bytes()
    priors.write_bytes(whole[:-4])
    try:
        assert language_model.identifier(LANGUAGES, folder).classify(TEXTS[1])[0] == "fi"
    finally:
        priors.write_bytes(whole)


def test_a_folder_that_is_not_there_is_said_to_be(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        language_model.lay_out(LANGUAGES, tmp_path / "nowhere")
