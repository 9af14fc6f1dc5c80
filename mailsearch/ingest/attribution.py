"""The lines by which mail programs say "what follows was written by somebody else", in the languages they speak."""

import re

# "On … Ann wrote:" in many languages: the verb, and the colon that ends the line.
_VERBS = (
    # English, German, French, Spanish, Italian, Portuguese, Dutch, Romanian, Catalan
    r"wrote|writes|said|schrieb(?: am| an)?|schreibt|geschrieben|a écrit|écrit|escribió|escribio|escribe|ha scritto|scrive"
    r"|escreveu|escreve|schreef|heeft(?: het volgende)? geschreven|a scris|va escriure|ha escrit"
    # Polish, Czech, Slovak, Croatian, Slovene, Hungarian
    r"|napisał(?:\(a\)|a)?|napisal(?:\(a\)|a)?|pisze|napsal(?:\(a\)|a)?|píše|napísal(?:\(a\)|a)?"
    r"|je napisa[ol](?:/la|\(la\)|la)?|piše|ezt írta|írta"
    # Danish, Norwegian, Swedish, Finnish, Estonian, Latvian, Lithuanian, Turkish
    r"|skrev(?: følgende)?|skriver|kirjoitti|kirjutas|rakstīja|rašė|şunları yazdı|yazdı|şöyle yazdı"
    # Russian, Ukrainian, Bulgarian, Greek
    r"|написа[лв](?:\(а\)|а)?|пишет|пише|писа[лв](?:\(а\)|а)?|έγραψε(?: τα εξής)?"
    # Vietnamese, Indonesian, Chinese, Japanese, Korean, Hebrew, Arabic
    r"|đã viết|menulis|写道|寫道|のメール|が書きました|さんは書きました|は書きました|님이 작성|작성|כתב(?:/ה|ה|\(ה\))?|كتب(?:ت)?"
)
_VERB = re.compile(rf"(?:(?<=\W)|^)(?:{_VERBS})(?=\W|$)", re.IGNORECASE)
_BEGINNINGS = re.compile(
    r"^(?:on|am|le|el|il|em|op|den|på|w dniu|dnia|dne|dňa|dana|în data de|în|στις|в|у|на|pada|vào|kl\.|ti|2\d{3}|\d{1,2}[./ ])\b",
    re.IGNORECASE,
)
_COLON_AT_END = re.compile(r"[:：]\s*$")
_JAPANESE = re.compile(r"^[12][0-9]{3}年.{3,80}[:：]\s*$")
_ADDRESS = re.compile(r"[\w.+%'-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}")
_IN_BRACKETS = re.compile(r"[<\[(](?:mailto:)?\s*[^<>\[\]()\s]*@[^<>\[\]()\s]*\s*[>\])]")
_RULES = "-_=*~—–"
_FORWARDED_BY = ("forwarded by ", "weitergeleitet von ")
_FORWARD = frozenset(
    "forwarded message|begin forwarded message|original forwarded message|forwarded mail"
    "|weitergeleitete nachricht|anfang der weitergeleiteten nachricht|anfang der weitergeleiteten e-mail"
    "|message transféré|message réexpédié|début du message transféré|début du message réexpédié|courriel transféré"
    "|mensaje reenviado|inicio del mensaje reenviado|messaggio inoltrato|inizio messaggio inoltrato"
    "|mensagem encaminhada|mensagem reencaminhada|início da mensagem encaminhada|início da mensagem reencaminhada"
    "|doorgestuurd bericht|begin doorgestuurd bericht|wiadomość przekazana|wiadomość przekazana dalej"
    "|przekazana wiadomość|początek przekazywanej wiadomości|treść przekazanej wiadomości|přeposlaná zpráva"
    "|preposlaná správa|videresendt melding|videresendt besked|videresendt meddelelse|vidarebefordrat meddelande"
    "|vidarebefordrat brev|välitetty viesti|edastatud kiri|továbbított üzenet|mesaj redirecționat|yönlendirilmiş ileti"
    "|iletilen ileti|proslijeđena poruka|пересылаемое сообщение|пересланное сообщение|переслане повідомлення"
    "|προωθημένο μήνυμα|转发的邮件|已转发邮件|轉寄的郵件|转发邮件信息|転送メッセージ|転送されたメッセージ|전달된 메시지"
    "|הודעה שהועברה|رسالة معاد توجيهها".split("|")
)
_ORIGINAL = frozenset(
    "original message|original email|original e-mail|original appointment|reply message|ursprüngliche nachricht"
    "|originalnachricht|original-nachricht|original nachricht|ursprüngliche e-mail|ursprüngliche email|message d'origine"
    "|message original|mensaje original|messaggio originale|mensagem original|oorspronkelijk bericht|origineel bericht"
    "|wiadomość oryginalna|oryginalna wiadomość|původní zpráva|pôvodná správa|oprindelig meddelelse|opprinnelig melding"
    "|ursprungligt meddelande|alkuperäinen viesti|algne kiri|eredeti üzenet|mesajul original|özgün ileti|orijinal mesaj"
    "|izvorna poruka|исходное сообщение|оригинальное сообщение|вихідне повідомлення|αρχικό μήνυμα|原始邮件|原始郵件"
    "|元のメッセージ|원본 메시지|הודעה מקורית|الرسالة الأصلية".split("|")
)
_FROM = frozenset(
    "from|von|de|da|van|od|od kogo|från|fra|lähettäjä|saatja|feladó|de la|kimden|gönderen|odesílatel|odosielateľ"
    "|expéditeur|mittente|remitente|remetente|afzender|от|від|από|发件人|寄件者|寄件人|差出人|送信者|보낸 사람|보낸사람|מאת"
    "|من|pošiljatelj|dari|từ".split("|")
)
_OTHER = frozenset(
    "date|sent|to|cc|subject|reply-to|datum|gesendet|an|betreff|kopie|envoyé|date d'envoi|à|objet|enviado|enviado el"
    "|enviado em|fecha|para|asunto|data|inviato|a|oggetto|assunto|verzonden|aan|onderwerp|wysłano|do|temat|dw|odesláno"
    "|komu|předmět|predmet|odoslané|sendt|til|emne|skickat|till|ämne|dato|lähetetty|päiväys|vastaanottaja|aihe|saadetud"
    "|teema|elküldve|címzett|tárgy|dátum|trimis|către|subiect|kime|konu|gönderildi|tarih|poslano|za|prima|дата|отправлено"
    "|кому|копия|тема|дата отправки|надіслано|копія|ημερομηνία|προς|θέμα|发送时间|日期|收件人|抄送|主题|寄件日期|傳送日期"
    "|收件者|副本|主旨|日付|送信日時|宛先|件名|보낸 날짜|받는 사람|참조|제목|날짜|תאריך|נשלח|אל|נושא|التاريخ|إلى|الموضوع"
    "|tanggal|kepada|subjek|perihal|ngày|đến|tới|chủ đề".split("|")
)
_LABEL = re.compile(r"[:：]")
_DATEISH = re.compile(
    r"[0-9]|^(?:at|um|à|alle|a|las|om|kl\.?|o|godz\.?|v|в|um|uhr|am|pm|a\.m\.|p\.m\.|on|den|the|gmt|utc|cet|cest|h|ore|ora|kello|,|-|–)$",
    re.IGNORECASE,
)


def speaker(line: str) -> str | None:
    """Who an attribution line names ("" if nobody), or None where *line* is none."""
    if len(line) > 400 or not _COLON_AT_END.search(line):
        return None
    verbs = list(_VERB.finditer(line))
    if not verbs:
        return _named(line, "") if _JAPANESE.match(line) else None
    verb = verbs[-1]
    before, after = line[: verb.start()].strip(" \t*_"), line[verb.end() :].strip(" \t*_:：")
    if not before and not after:
        return None
    if not (_BEGINNINGS.match(before) or _IN_BRACKETS.search(line) or _looks_like_name(before)):
        return None
    return _named(before, after)


def is_certain(line: str) -> bool:
    """Whether an attribution line also names a date or an address, so that no prose looks like it."""
    return bool(re.search(r"[0-9]{1,4}", line)) or bool(_ADDRESS.search(line))


def is_forward(line: str) -> bool:
    """Whether *line* announces a forwarded message."""
    core = _core(line)
    return core in _FORWARD or (line.startswith("--") and core.startswith(_FORWARDED_BY))


def is_original(line: str) -> bool:
    """Whether *line* announces the message that is being answered."""
    return line[:1] in _RULES and line[1:2] in _RULES and _core(line) in _ORIGINAL


def _core(line: str) -> str:
    """The words of a line of rules, or "" where it has too many or neither rules nor a colon around them."""
    if len(line) > 200 or (line[:1] not in _RULES and line[-1:] not in ":：*"):
        return ""
    return line.strip(" \t>|:：" + _RULES).casefold()


def from_line(line: str) -> str | None:
    """Whom the first line of a block of headers names as sender, or None where *line* is none."""
    label, value = _labelled(line)
    return person(value) if label in _FROM else None


def is_header_line(line: str) -> bool:
    """Whether *line* is another line of a block of headers."""
    return _labelled(line)[0] in _OTHER


def _labelled(line: str) -> tuple[str, str]:
    """A line "Label: value" as its folded label and its value; bold type in text is written with asterisks."""
    match = _LABEL.search(line, 0, 40)
    if match is None or len(line) > 5_000:
        return "", ""
    return line[: match.start()].strip(" \t*>|").casefold(), line[match.end() :].strip(" \t*")


def person(value: str) -> str:
    """A person as "Name <address>", or what there is of that."""
    address = _ADDRESS.search(value)
    name = _IN_BRACKETS.sub(" ", value)
    if address and address[0] in name:
        name = name.replace(address[0], " ")
    name = " ".join(name.strip(" \t*_").split()).strip("\"'<>[]();,:：„“”‚‘’ ")
    if address is None:
        return name[:200]
    return f"{name[:200]} <{address[0]}>" if name else address[0]


def _looks_like_name(before: str) -> bool:
    words = before.split()
    if not 1 <= len(words) <= 6 or before[-1:] in ".,;:!?":
        return False
    return all(
        word[:1].isupper() or not word[:1].isascii() or word in ("von", "van", "de", "der", "*") for word in words
    )


def _named(before: str, after: str) -> str:
    """The person in an attribution: after the verb if words without a date stand there, else at the end before it."""
    bare = _IN_BRACKETS.sub("", after)
    if re.search(r"[^\W\d_]", after) and not re.search(r"[0-9]{2}", bare):
        return person(after)
    address = _IN_BRACKETS.search(before)
    return person(
        _trailing_name(before[: address.start()] if address else before) + (f" {address[0]}" if address else "")
    )


def _trailing_name(value: str) -> str:
    value = value.rstrip(" ,:：")
    quoted = re.search(r"[\"„“]([^\"„“”]{1,100})[\"“”]$", value)
    if quoted:
        return quoted[1]
    name: list[str] = []
    for word in reversed(value.split()):
        if _DATEISH.search(word) and "@" not in word or (name and word.endswith((",", ")", ";"))):
            break
        name.append(word)
        if len(name) > 6:
            break
    return " ".join(reversed(name))
