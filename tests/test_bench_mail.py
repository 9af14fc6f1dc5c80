"""The mail that benchmarks take in."""

from email import message_from_bytes
from pathlib import Path

from bench._mail import SAMPLE, write_corpus


def read(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def test_benchmark_mail_is_the_same_each_time_and_no_message_twice(tmp_path: Path) -> None:
    count = 2 * len(list(SAMPLE.rglob("*.eml"))) + 5
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        write_corpus(tmp_path / name, count)
    mails = read(tmp_path / "one")
    assert mails == read(tmp_path / "other")
    assert len(set(mails)) == count
    known = {message_from_bytes(mail)["Message-ID"] for mail in mails}
    answers = [message_from_bytes(mail)["In-Reply-To"] for mail in mails]
    assert sum(one in known for one in answers if one) > count / 4
