"""Files that stand in the text of a message: uuencoded, in yEnc, in winmail.dat; and what their labels say."""

import binascii

import pytest

from mailsearch.ingest import mime
from mailsearch.ingest.parsed import ParsedMessage
from tests.mailsearch.test_parse_messages import parts
from tests.mailsearch.test_tnef import container, file

STOCK = b"Cedar planks in stock: 318. " * 6
HEAD = b"From: ada@a.example\nSubject: Stock\n"


def uuencoded(content: bytes, begin: str = "begin 644 stock.txt", end: str = "`\nend") -> str:
    lines = [binascii.b2a_uu(content[at : at + 45]).decode() for at in range(0, len(content), 45)]
    return f"{begin}\n{''.join(lines)}{end}"


def yenc(content: bytes, head: bytes = b"=ybegin line=128 size=168 name=stock.txt") -> bytes:
    encoded = b"".join(bytes(((byte + 42) % 256,)) for byte in content)
    escaped = b"".join(b"=%c" % ((byte + 64) % 256) if byte in b"\0\n\r=" else bytes((byte,)) for byte in encoded)
    lines = b"\r\n".join(escaped[at : at + 128] for at in range(0, len(escaped), 128))
    return head + b"\r\n" + lines + b"\r\n=yend size=168 crc32=%08x\r\n" % binascii.crc32(content)


def message(text: bytes) -> ParsedMessage:
    return mime.parse(HEAD + b"Content-Type: text/plain\n\n" + text)


@pytest.mark.parametrize(
    "encoded",
    [
        uuencoded(STOCK),
        uuencoded(STOCK, "begin  100644\tstock.txt"),
        uuencoded(STOCK, end=" \nend"),
        uuencoded(STOCK, end=""),
    ],
)
def test_a_uuencoded_file_goes_and_all_words_around_it_stay(encoded: str) -> None:
    parsed = message(f"Here it is.\n\n{encoded}\nBye, yak.\n".encode())
    assert parsed.body.text.split() == ["Here", "it", "is.", "Bye,", "yak."]
    assert [(one.filename, one.content) for one in parsed.attachments] == [("stock.txt", STOCK)]


def test_zeros_of_a_uuencoded_file_may_have_got_lost_as_blanks() -> None:
    content = b"\x01\x02" + bytes(130) + b"\x03"
    encoded = "\n".join(line.rstrip() for line in uuencoded(content).replace("`", " ").split("\n"))
    (attachment,) = message(f"Here.\n{encoded}\nBye.".encode()).attachments
    assert attachment.content == content


def test_capitals_between_begin_and_end_are_no_file() -> None:
    parsed = message(b"begin 644 times\nAND AGAIN\nend\n")
    assert (parsed.body.text, parsed.attachments) == ("begin 644 times\nAND AGAIN\nend", ())


@pytest.mark.parametrize(
    "head",
    [
        b"=ybegin line=128 size=168 name=stock.txt",
        b"=ybegin part=1 total=2 line=128 size=336 name=stock.txt\r\n=ypart begin=1 end=168",
    ],
)
def test_a_file_in_yenc_goes_and_all_words_around_it_stay(head: bytes) -> None:
    parsed = message(b"Here it is.\r\n" + yenc(STOCK, head) + b"Bye, yak.\r\n")
    assert parsed.body.text.split() == ["Here", "it", "is.", "Bye,", "yak."]
    assert [(one.filename, one.content) for one in parsed.attachments] == [("stock.txt", STOCK)]
    assert "damaged" not in parsed.defects[-1].explanation
    assert "damaged" in message(yenc(STOCK, head).replace(b"=yend", b"=yond")).defects[-1].explanation


def test_a_uuencoded_winmail_is_opened() -> None:
    held = container(file(b"stock.txt", STOCK))
    parsed = message(b"Here.\n" + uuencoded(held, "begin 600 winmail.dat").encode() + b"\n")
    assert [(one.filename, one.content) for one in parsed.attachments] == [("stock.txt", STOCK)]


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [("shift_jis", "cp932", "会議室"), ("iso-8859-7", "iso8859-7", "Ημέρα"), ("gb2312", "gb2312", "会议")],
)
@pytest.mark.parametrize(("kind", "name"), [("plain", "a.txt"), ("html", "a.html"), ("csv", "a.csv")])
def test_an_attached_text_is_read_in_the_charset_that_it_is_labelled_with(
    label: str, codec: str, text: str, kind: str, name: str
) -> None:
    head = f"Content-Type: text/{kind}; charset={label}; name={name}\r\nContent-Disposition: attachment\r\n\r\n"
    parsed = mime.parse(
        HEAD + parts("mixed", b"Content-Type: text/plain\r\n\r\nSee.", head.encode() + text.encode(codec))
    )
    (attachment,) = parsed.attachments
    assert (attachment.text.text, attachment.content) == (text, text.encode(codec))


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
def test_a_message_that_an_editor_saved_is_read(codec: str) -> None:
    parsed = mime.parse("Subject: Größe\r\n\r\nThe roof.\r\n".encode(codec))
    assert (parsed.subject, parsed.body.text) == ("Größe", "The roof.")


def test_text_of_an_unknown_kind_is_read_as_plain() -> None:
    parsed = mime.parse(HEAD + b"Content-Type: text/x-unknown\n\nThe roof is done.\n")
    assert (parsed.body.text, parsed.attachments) == ("The roof is done.", ())


def test_a_message_of_apple_mail_ends_where_its_first_line_says() -> None:
    raw = HEAD + b"\nThe roof is done.\n"
    parsed = mime.parse(b"%-10d\n" % len(raw) + raw + b"<plist><dict><key>flags</key></dict></plist>")
    assert (parsed.subject, parsed.body.text) == ("Stock", "The roof is done.")


def test_what_is_signed_in_the_text_stands_without_the_signature() -> None:
    signed = (
        b"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nThe roof.\n- -- \nAda\n"
        b"-----BEGIN PGP SIGNATURE-----\n\niQEzBAEB\n=abcd\n-----END PGP SIGNATURE-----\n"
    )
    parsed = message(b"Above.\n" + signed + b"Below.\n")
    assert (parsed.body.text, parsed.signed) == ("Above.\nThe roof.\n--\nAda\n\nBelow.", True)
    cut = message(signed.partition(b"=abcd")[0])
    assert "The roof." in cut.body.text
