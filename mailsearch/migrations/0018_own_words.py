"""What a message says itself goes before what it only quotes.

A short reply that quotes a line came before the long message in which the line was written. Of messages that are as
complete, those with a match in their own words now come first; a match in nothing but quoted text comes after them.
"""

from importlib import import_module

from django.db import migrations

best = import_module("mailsearch.migrations.0014_words_in_one_place")
ranked = import_module("mailsearch.migrations.0013_folding_where_ranked")
sessions = import_module("mailsearch.migrations.0016_warm_sessions")


def changed(statement: str, *changes: tuple[str, str]) -> str:
    """*statement* with each of *changes* made; each of them must be there to be made."""
    for old, new in changes:
        if old not in statement:
            raise ValueError(f"There is no {old!r} to change.")
        statement = statement.replace(old, new)
    return statement


NEWEST = changed(
    best.NEWEST,
    ("-- p_complete matches, too.", "-- p_own matches, too, and 2^31 more where p_complete does."),
    ("and 2^30 more where\n", "2^30 more where\n"),
    ("p_complete tsquery, p_terms", "p_complete tsquery, p_own tsquery, p_terms"),
    ("d.complete * 1073741824", "(2 * d.complete + d.own) * 1073741824::bigint"),
    (
        "THEN 1 ELSE 0 END AS complete,",
        "THEN 1 ELSE 0 END AS complete,\n                         CASE WHEN d.words @@ p_own THEN 1 ELSE 0 END AS own,",
    ),
    ("tsquery, tsquery, tsquery[], float8[]", "tsquery, tsquery, tsquery, tsquery[], float8[]"),
)
BEST = changed(
    best.BEST,
    ("p_broad text, p_terms", "p_broad text, p_own text, p_terms"),
    (
        "p_expected says about how many",
        "p_own is p_strict or p_broad in a message's own\n-- words. p_expected says about how many",
    ),
    ("v_terms tsquery[]", "v_own tsquery := p_own::tsquery;\n    v_terms tsquery[]"),
    ("v_broad, v_strict, v_terms,", "v_broad, v_strict, v_own, v_terms,"),
    ("v_strict, NULL, v_terms,", "v_strict, NULL, v_own, v_terms,"),
    ("timestamptz, timestamptz, text, text, text[]", "timestamptz, timestamptz, text, text, text, text[]"),
    ("(completeness and score, then the later)", "(completeness, own words and score, then the later)"),
)
RANKED = changed(
    ranked.RANKED,
    ("p_broad text, p_terms", "p_broad text, p_own text, p_terms"),
    ("v_terms tsquery[]", "v_own tsquery := p_own::tsquery;\n    v_terms tsquery[]"),
    ("s.complete DESC, round", "s.complete DESC, s.own DESC, round"),
    ("AS complete\n", "AS complete,\n                       CASE WHEN d.words @@ v_own THEN 1 ELSE 0 END AS own\n"),
    (
        "jsonb, text, text, text[], float8[], integer[], integer, boolean",
        "jsonb, text, text, text, text[], float8[], integer[], integer, boolean",
    ),
    ("DROP FUNCTION mail_search.ranked(jsonb, text, text, text[], float8[], integer[], integer);\n", ""),
)
# Both ways of looking.
WARM = changed(
    sessions.WARM,
    ("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"),
    ("'''- -''', NULL, ", "'''- -''', NULL, '''- -''', "),
    (" | ''- .''', ", " | ''- .''', '''- -'':ABC', "),
)
OLD = """
DROP FUNCTION mail_search.newest(
    bigint[], timestamptz, timestamptz, tsquery, tsquery, tsquery[], float8[], float8[], integer, bigint, boolean);
DROP FUNCTION mail_search.best(
    bigint[], timestamptz, timestamptz, text, text, text[], float8[], float8[], integer[], bigint[], boolean, integer,
    boolean);
DROP FUNCTION mail_search.ranked(jsonb, text, text, text[], float8[], integer[], integer, boolean);
"""


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0017_load_by_sets")]

    operations = [
        # There is no way back: the release before can't call these functions either.
        migrations.RunSQL(OLD + NEWEST + BEST + RANKED + WARM),
    ]
