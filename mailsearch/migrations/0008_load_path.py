"""What taking mail in need not pay for: single entries into the word index, repeated checks, double indexes.

The word index collects new entries and takes them in together (GIN's pending list; searches read it too). Whoever put
mail in asks for that at the end, which only the index's owner may do; the owner lends a function for it. Rows that
hang on a message repeat its tenant and mailbox for row-level security; that those exist is checked on the message.
Indexes that others cover go.
"""

from django.contrib.postgres.indexes import GinIndex
from django.db import migrations, models

TABLES = ("rawmessage", "participant", "attachment", "searchdocument", "passage", "passagevector")
OF_A_MESSAGE = {
    "participant": {"related_name": "participants"},
    "attachment": {"related_name": "attachments"},
    "passage": {"related_name": "passages"},
    "passagevector": {},
}

INDEX = """
ALTER INDEX search_document_words SET (fastupdate = on);

CREATE FUNCTION mail_search.tidy_index() RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT gin_clean_pending_list('public.search_document_words'::regclass)
$$;
REVOKE EXECUTE ON FUNCTION mail_search.tidy_index() FROM PUBLIC;
"""
UNDO_INDEX = """
DROP FUNCTION mail_search.tidy_index();
ALTER INDEX search_document_words SET (fastupdate = off);
"""

FOLD = """
CREATE OR REPLACE FUNCTION mail_search.fold(p_text text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN {};
"""
FOLDED = "lower(regexp_replace(normalize(p_text, NFKD), '[\u0300-\u036f]', '', 'g'))"
# Text of as many bytes as characters is ASCII.
QUICKLY_FOLDED = f"CASE WHEN octet_length(p_text) = length(p_text) THEN lower(p_text) ELSE {FOLDED} END"


def unchecked(to, **more):
    return models.ForeignKey(f"mailsearch.{to}", models.CASCADE, db_constraint=False, **more)


def covered(to, **more):
    """A reference that an index of another name covers already."""
    return models.ForeignKey(f"mailsearch.{to}", models.CASCADE, db_index=False, **more)


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0007_tenant_sandbox")]

    operations = [
        *(migrations.AlterField(table, "tenant", unchecked("tenant", db_index=False)) for table in TABLES),
        *(migrations.AlterField(table, "mailbox", unchecked("mailbox")) for table in TABLES),
        *(migrations.AlterField(table, "message", covered("message", **more)) for table, more in OF_A_MESSAGE.items()),
        migrations.AlterField("message", "tenant", covered("tenant")),
        migrations.AlterField("message", "thread", covered("thread")),
        migrations.AlterField("message", "container", covered("message", null=True, blank=True, related_name="nested")),
        migrations.SeparateDatabaseAndState(
            [migrations.RunSQL(INDEX, UNDO_INDEX)],
            [
                migrations.RemoveIndex("searchdocument", "search_document_words"),
                migrations.AddIndex(
                    "searchdocument", GinIndex(fields=["words"], fastupdate=True, name="search_document_words")
                ),
            ],
        ),
        migrations.RunSQL(FOLD.format(QUICKLY_FOLDED), FOLD.format(FOLDED)),
    ]
