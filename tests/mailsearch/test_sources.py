"""Sources hand over every message once, with what only they know."""

import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from mailsearch.ingest.sources import NotASource, RawMail, open_source
from mailsearch.ingest.sources.labels import folder_role
from mailsearch.terms import fold
from tests.mailsearch.importing import mail, write

FROM = b"From ann@abel.example Wed Mar  4 08:00:00 2026\n"


def read(path: Path) -> list[RawMail]:
    return list(open_source(path).messages())


def bodies(path: Path) -> list[bytes]:
    return [one.data.replace(b"\r\n", b"\n").partition(b"\n\n")[2].strip() for one in read(path)]


def box(path: Path, *pieces: bytes) -> Path:
    path.write_bytes(b"".join(pieces))
    return path


def test_a_line_of_prose_that_begins_with_from_divides_nothing(tmp_path: Path) -> None:
    prose = (
        b"From the station take the left.\n\nFrom Monday on: closed.\nFrom me Wed Mar  4 08:00:00 2026\nnot a header\n"
    )
    path = box(
        tmp_path / "a.mbox", FROM, mail("First."), b"\n", FROM, b"Subject: 2\n\n", prose, b"\n", FROM, mail("Last.")
    )
    assert bodies(path) == [b"First.", prose.strip(), b"Last."]


@pytest.mark.parametrize(
    "line",
    [
        b"From ann@abel.example Wed Mar  4 08:00:00 2026\n",
        b"From ann at abel.example  Wed Mar  4 08:00:00 2026\n",
        b"From MAILER-DAEMON Wed Mar 04 08:00:00 2026\n",
        b"From - Wed Mar 04 08:00:00 2026\n",
        b"From 1790000000000000000@xxx Wed Mar 04 08:00:00 +0000 2026\n",
        b'From "ann b"@abel.example Wed Mar  4 08:00:00 2026\n',
        b"From ann@abel.example Wed, 4 Mar 2026 09:00:00 +0100\n",
        b"From ann@abel.example Wed Mar  4 08:00 2026\n",
        b"From ann@abel.example Wed Mar  4 08:00:00 2026 remote from mars\n",
    ],
)
def test_from_lines_of_all_writers_begin_a_message_and_date_it(tmp_path: Path, line: bytes) -> None:
    path = box(tmp_path / "a.mbox", line, mail("One."), b"\n", line, mail("Two."))
    assert bodies(path) == [b"One.", b"Two."]
    assert {one.delivered_at for one in read(path)} == {datetime(2026, 3, 4, 8, tzinfo=UTC)}


def test_blank_lines_between_messages_and_line_ends_may_be_as_they_like(tmp_path: Path) -> None:
    tight = box(tmp_path / "tight.mbox", FROM, mail("One."), FROM, mail("Two."))
    crlf = box(tmp_path / "crlf.mbox", (FROM + mail("One.") + b"\n" + FROM + mail("Two.")).replace(b"\n", b"\r\n"))
    late = box(tmp_path / "late.mbox", b"\n\n", FROM, mail("One."), b"\n\n\n", FROM, mail("Two."))
    assert bodies(tight) == bodies(crlf) == bodies(late) == [b"One.", b"Two."]


def test_escaped_lines_lose_one_mark_in_bodies_only(tmp_path: Path) -> None:
    path = box(tmp_path / "a.mbox", FROM, b">From ann Wed Mar  4\n", mail(">From Monday\n>>From before\n> From here"))
    (one,) = read(path)
    assert one.data.startswith(b">From ann")
    assert bodies(path) == [b"From Monday\n>From before\n> From here"]


def test_a_patch_inside_a_mail_divides_nothing_but_a_file_of_patches_is_divided(tmp_path: Path) -> None:
    patch = b"From " + b"0" * 40 + b" Mon Sep 17 00:00:00 2001\n" + mail("diff")
    inside = box(tmp_path / "mail.mbox", FROM, mail("See:\n"), patch)
    assert len(read(inside)) == 1
    assert len(read(box(tmp_path / "patches.mbox", patch, b"\n", patch))) == 2


def test_a_line_of_a_megabyte_is_no_border_in_its_middle(tmp_path: Path) -> None:
    long = b"x" * 999_999 + FROM
    path = box(tmp_path / "a.mbox", FROM, mail("Start."), long, b"Header: no\n\n", FROM, mail("Two."))
    assert len(read(path)) == 2


@pytest.mark.parametrize(
    "line", [b"From nobody\n", b"From ann@abel.example Mi 4 Mrz 08:00 2026\n", b"From a 2026-03-04\n"]
)
def test_a_file_whose_borders_have_no_date_is_divided_above_headers(tmp_path: Path, line: bytes) -> None:
    prose = b"From here\nto there.\n\nFrom then on\nNote: none\n"
    path = box(tmp_path / "a.mbox", line, mail(prose.decode()), b"\n", line, mail("Two."))
    assert bodies(path) == [prose.strip(), b"Two."]


def test_a_content_length_is_believed_where_it_leads_to_a_border(tmp_path: Path) -> None:
    quoting = "One.\n" + FROM.decode() + "Subject: quoted\nEnd."
    right = mail(quoting, content_length=str(len(quoting)))
    wrong = mail("Two.", content_length="99999")
    path = box(tmp_path / "a.mbox", FROM, right, b"\n", FROM, wrong, b"\n", FROM, mail("Three.", content_length="1"))
    assert bodies(path) == [quoting.encode(), b"Two.", b"Three."]


def test_a_mailbox_of_mmdf_is_divided_at_its_borders(tmp_path: Path) -> None:
    border = b"\x01\x01\x01\x01\n"
    kept = b"".join(border + b"Subject: %d\n\nFrom here on\n" % number + border for number in (1, 2))
    (tmp_path / "a.mbox").write_bytes(kept)
    found = [one.data for one in open_source(tmp_path / "a.mbox").messages()]
    assert found == [b"Subject: 1\n\nFrom here on\n", b"Subject: 2\n\nFrom here on\n"]
    (tmp_path / "b.mbox").write_bytes(b"From a@x.example Wed Mar  4 08:00:00 2026\nSubject: 1\n\n" + border + b"End.\n")
    assert len(list(open_source(tmp_path / "b.mbox").messages())) == 1


def test_lone_carriage_returns_divide_lines(tmp_path: Path) -> None:
    path = box(tmp_path / "a.mbox", (FROM + mail("One.") + b"\n" + FROM + mail("Two.")).replace(b"\n", b"\r"))
    assert bodies(path) == [b"One.", b"Two."]


def test_headers_of_mail_programs_give_flags_and_their_own_data_is_no_mail(tmp_path: Path) -> None:
    own = b"Subject: DON'T DELETE THIS MESSAGE -- FOLDER INTERNAL DATA\nX-IMAP: 1 2\n\nInternal.\n"
    written = [{"status": "RO", "x_status": "AF"}, {"status": "O"}, {"x_mozilla_status": "0009"}]
    path = box(tmp_path / "a.mbox", FROM, own, *(b"\n" + FROM + mail(**one) for one in written))
    assert [one.flags for one in read(path)] == [("seen", "answered", "flagged"), (), ("seen", "deleted")]


def test_labels_of_takeout_give_folder_and_flags(tmp_path: Path) -> None:
    labels = ["Inbox,Important,Opened", "Sent,Starred", "=?UTF-8?Q?Rechnungen_M=C3=A4rz?=,Archived,Unread", "Spam"]
    labels += ["=?UTF-8?Q?Posteingang,Ge=C3=B6ffnet?=", '"Roof, new",Unread', "Archived,Category Updates,Opened"]
    path = box(tmp_path / "a.mbox", *(FROM + mail(x_gmail_labels=one) + b"\n" for one in labels))
    assert [(one.folder, one.flags) for one in read(path)] == [
        ("", ("seen",)),
        ("Sent", ("flagged",)),
        ("Rechnungen März", ()),
        ("Junk", ()),
        ("", ("seen",)),
        ("Roof, new", ()),
        ("Archive", ("seen",)),
    ]


def test_a_maildir_gives_folders_and_flags_and_leaves_what_is_no_mail(tmp_path: Path) -> None:
    for folder in (".", ".Archive.2023", "plain", ".Entw&APw-rfe"):
        for part in ("cur", "new", "tmp"):
            (tmp_path / folder / part).mkdir(parents=True)
    (tmp_path / "cur" / "1709627400.M1P1.host:2,RS").write_bytes(mail("1"))
    (tmp_path / "cur" / "1709627401.M2P1.host_2,FT").write_bytes(mail("2"))
    (tmp_path / "new" / "1709627402.M3P1.host").write_bytes(mail("3"))
    (tmp_path / "tmp" / "1709627403.M4P1.host").write_bytes(mail("unfinished"))
    (tmp_path / "cur" / ".hidden").write_bytes(mail("hidden"))
    (tmp_path / "dovecot-uidlist").write_text("3 V1 N9")
    (tmp_path / ".Archive.2023" / "cur" / "1709627404.M5P1.host:2,DP").write_bytes(mail("5"))
    (tmp_path / "plain" / "cur" / "odd name").write_bytes(mail("6"))
    (tmp_path / ".Entw&APw-rfe" / "cur" / "7:2,").write_bytes(mail("7"))
    source = open_source(tmp_path)
    found = {one.data.strip()[-1:]: (one.folder, one.flags) for one in source.messages()}
    assert source.kind == "maildir"
    assert found == {
        b"1": ("", ("seen", "answered")),
        b"2": ("", ("flagged", "deleted")),
        b"3": ("", ()),
        b"5": ("Archive/2023", ("draft", "passed")),
        b"6": ("plain", ()),
        b"7": ("Entwürfe", ()),
    }
    assert read(tmp_path)[0].delivered_at == datetime(2024, 3, 5, 9, 30, tzinfo=timezone(timedelta(hours=1)))


def test_a_folder_is_walked_without_following_links(tmp_path: Path) -> None:
    write(tmp_path / "in", a__eml=mail("1"), b__txt=mail("2"), c__txt=b"no mail", d__pdf=b"%PDF-1.7")
    write(tmp_path / "in" / "below", e__eml=b"", f__mbox=FROM + mail("3"))
    write(tmp_path / "out", secret__eml=mail("secret"))
    (tmp_path / "in" / "link.eml").symlink_to(tmp_path / "out" / "secret.eml")
    (tmp_path / "in" / "linked").symlink_to(tmp_path / "out")
    os.mkfifo(tmp_path / "in" / "pipe.eml")
    found = {Path(one.origin).name: one.folder for one in read(tmp_path / "in")}
    assert found == {"a.eml": "", "b.txt": "", "e.eml": "below", "f.mbox:1": "below/f"}


def test_a_single_message_may_have_a_from_line(tmp_path: Path) -> None:
    write(tmp_path, a__eml=FROM + mail("1"))
    (one,) = read(tmp_path / "a.eml")
    assert one.data == mail("1")


def test_what_is_no_source_says_why(tmp_path: Path) -> None:
    write(tmp_path, a__pdf=b"%PDF-1.7")
    (tmp_path / "link").symlink_to(tmp_path / "a.pdf")
    for name, why in (("none", "can't be opened"), ("a.pdf", "does not look like mail"), ("link", "links are not")):
        with pytest.raises(NotASource, match=why):
            open_source(tmp_path / name)


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("INBOX", "inbox"), ("Gesendet", "sent"), ("[Gmail]/Sent Mail", "sent"), ("Spam", "junk"),
        ("Gelöschte Elemente", "trash"), ("Trash/old", "trash"), ("Sent/2024", ""), ("Projects/Sentinel", ""),
        ("Корзина", "trash"),
    ],
)  # fmt: skip
def test_folders_have_roles_by_their_well_known_names(path: str, role: str) -> None:
    assert folder_role(path, fold(path)) == role
