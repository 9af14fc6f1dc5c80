"""Sentences that say what the mail does not hold. No source can show that, so they are no part of an answer."""

import re

_MAIL = r"(?:e-?mails?|mails?|messages?|correspondence|threads?|inbox|mailbox|evidence|search results?|results?|sources?|records?|conversations?|documents?(?= provided)|context|information provided|excerpts?)"
_ENGLISH = (
    rf"(?:no|none of(?: the| these| your)?|neither of the|not one of the) (?:\w+ ){{0,3}}{_MAIL}\b",
    rf"\b{_MAIL} (?:\w+ ){{0,4}}(?:do|does|did)(?: not|n't) (?:\w+ ){{0,2}}(?:say|mention|state|contain|include|indicate|specify|show|give|provide|reveal|address|discuss|tell|name|confirm|answer|explain|hold)",
    rf"\b{_MAIL} (?:\w+ ){{0,3}}(?:say|mention|contain|hold|give|provide)s? (?:nothing|no (?:information|mention|answer|details?|evidence|date|amount|indication))",
    r"\b(?:i|we) (?:could|can|was|were|am|are|have|did)(?: not|n't) (?:been )?(?:able to )?(?:find|found|locate|see|determine|identify|confirm|verify|any)",
    r"\b(?:i|we) (?:cannot|can't|couldn't) (?:find|locate|see|determine|identify|confirm|verify|answer)",
    r"\b(?:i|we) found (?:no|nothing|none)\b",
    r"\bthere (?:is|are|was|were) (?:no|not any|nothing|insufficient) (?:\w+ ){0,3}(?:mention|information|evidence|record|indication|answer|details?|reference|e-?mails?|messages?|data)\b",
    rf"\b(?:is|are|was|were)(?: not|n't) (?:mentioned|stated|specified|given|found|contained|included|provided|addressed|discussed|indicated|disclosed)(?: \w+){{0,2}} (?:in|by|within) (?:\w+ ){{0,3}}{_MAIL}\b",
    rf"\bnothing (?:\w+ ){{0,3}}(?:in|from) (?:\w+ ){{0,2}}{_MAIL}\b",
    r"\b(?:no|not enough|insufficient) (?:\w+ )?(?:information|evidence|data) (?:was |is |could be )?(?:found|available|given|provided)\b",
    r"\bno (?:\w+ ){0,2}(?:answer|mention|confirmation|reply|information|record|evidence|e-?mails?|messages?) (?:\w+ ){0,2}(?:was|were|is|are|could be|can be) (?:found|available|given|located)\b",
    r"\bunable to (?:find|locate|determine|identify|confirm|verify)\b",
)
_GERMAN_MAIL = r"(?:e-?mails?|mails?|nachrichten?|korrespondenz|postfach|quellen?|belege?|suchergebnissen?|ergebnissen?|unterlagen)"
_GERMAN = (
    rf"\b(?:kein|keine|keiner|keinen|keinem|in keiner|in keinem)(?: der| dieser)?(?: \w+){{0,2}} {_GERMAN_MAIL}\b",
    rf"\b{_GERMAN_MAIL} (?:\w+ ){{0,6}}(?:nicht (?:erw\u00e4hnt|genannt|gesagt|hervor|angegeben|enthalten|beantwortet)|keine (?:angaben?|informationen?|hinweise?|antwort|aussage)|nichts)",
    rf"\b{_GERMAN_MAIL} (?:\w+ ){{0,3}}(?:sagen|sagt|nennen|nennt|enthalten|enth\u00e4lt|erw\u00e4hnen|erw\u00e4hnt) (?:\w+ ){{0,4}}(?:nicht|nichts|keine?n?)\b",
    r"\b(?:ich|wir) (?:konnte|konnten|kann|k\u00f6nnen|habe|haben) (?:\w+ ){0,5}(?:nicht|nichts|keine?n?) (?:\w+ ){0,4}(?:finden|gefunden|feststellen|ermitteln|best\u00e4tigen)",
    r"\bes (?:gibt|gab|liegen|liegt|finden sich|findet sich) (?:\w+ ){0,2}keine?n? (?:\w+ ){0,2}(?:angaben?|informationen?|hinweise?|erw\u00e4hnung|antwort|nachricht|e-?mails?|belege?)",
)
_FRENCH_MAIL = r"(?:e-?mails?|mails?|courriels?|messages?|correspondance|sources?|r\u00e9sultats?)"
_FRENCH = (
    rf"\b(?:aucun|aucune)(?: des| de ces)?(?: \w+){{0,2}} {_FRENCH_MAIL}\b",
    rf"\b{_FRENCH_MAIL} (?:\w+ ){{0,2}}(?:ne |n')(?:\w+ ){{0,2}}(?:dis|dit|disent|mentionne|mentionnent|pr\u00e9cise|pr\u00e9cisent|contient|contiennent|indique|indiquent|donne|donnent)",
    r"\b(?:je|nous|on) (?:ne |n')(?:\w+ ){0,2}(?:trouv|pu trouver|peux|pouvons|ai pas trouv|avons pas trouv)",
    r"\bil n'y a (?:\w+ ){0,2}(?:aucune?|pas d')(?: ?\w+){0,2} ?(?:information|mention|indication|r\u00e9ponse|message|courriel|mail)",
)
_OTHERS = (
    r"\b(?:ning\u00fan|ninguno de los|ninguna de las) (?:\w+ ){0,2}(?:correos?|mensajes?|e-?mails?)\b",
    r"\b(?:correos?|mensajes?) (?:\w+ ){0,2}no (?:dicen?|mencionan?|indican?|contienen?|especifican?)\b",
    r"\bno (?:he|hemos|pude|se ha) (?:podido )?(?:encontr|hall)",
    r"\b(?:nessuna|nessuno dei|nessun) (?:\w+ ){0,2}(?:e-?mail|messagg\w+)\b",
    r"\b(?:e-?mail|messaggi\w*) (?:\w+ ){0,2}non (?:dic|menzion|indic|conten|specific)",
    r"\bnon (?:ho|abbiamo|\u00e8 stato) (?:potuto |possibile )?trov",
    r"\b(?:geen|geen enkele?|geen van de)(?: \w+){0,2} (?:e-?mails?|berichten?)\b",
    r"\b(?:e-?mails?|berichten) (?:\w+ ){0,4}(?:niet vermeld|niets over|geen informatie)",
    r"\b(?:nenhum|nenhuma|nenhuma das|nenhum dos) (?:\w+ ){0,2}(?:e-?mails?|mensage\w+)\b",
    r"\b(?:e-?mails?|mensagens) (?:\w+ ){0,2}n\u00e3o (?:diz|menciona|indica|cont\u00e9m|informa)",
    r"\bn\u00e3o (?:encontrei|encontramos|foi poss\u00edvel encontrar)",
    r"\b(?:\u017cadna|\u017caden|w \u017cadnej|\u017cadne) (?:z )?(?:\w+ ){0,2}(?:wiadomo\w+|e-?mail\w*|maili?)\b",
    r"\b(?:wiadomo\u015bci|maile|e-?maile) (?:\w+ ){0,2}nie (?:m\u00f3wi|wspomina|zawiera|podaj)",
    r"\bnie (?:znalaz\u0142|znaleziono|uda\u0142o si\u0119 znale\u017a\u0107)",
)
_PATTERN = re.compile("|".join(f"(?:{pattern})" for pattern in (*_ENGLISH, *_GERMAN, *_FRENCH, *_OTHERS)))


def claimed(text: str) -> bool:
    """Whether *text*, in normal form and without its quotations, says that the mail holds no answer."""
    return _PATTERN.search(text) is not None
