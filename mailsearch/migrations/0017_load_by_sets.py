"""Less for an import to pay: facts beside the words come with them, and indexes that others cover go.

The trigger that puts a message's facts beside its words looked each message up again. Whoever puts in a whole batch
takes them from the batch, by the same two functions. Public ids are never looked for by their beginning, and an index by
mailbox alone led the planner away from that of identities. Of folded texts nobody asks how often each occurs.
"""

from importlib import import_module

from django.db import migrations, models

placed = import_module("mailsearch.migrations.0014_words_in_one_place")

FUNCTIONS = f"""
CREATE FUNCTION mail_search.words_key(p_hash bytea) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_hash <> '' THEN ('x' || encode(substr(p_hash, 1, 8), 'hex'))::bit(64)::bigint END;
CREATE FUNCTION mail_search.word_places(p_mailbox bigint, p_received timestamptz) RETURNS bigint[]
LANGUAGE sql STABLE PARALLEL SAFE
RETURN ARRAY[p_mailbox << 16 | {placed.WEEK.format("p_received")}, -p_mailbox];
REVOKE EXECUTE ON FUNCTION mail_search.words_key(bytea), mail_search.word_places(bigint, timestamptz) FROM PUBLIC;

CREATE OR REPLACE FUNCTION mail_search.place_words() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    SELECT m.folder_id, m.received_at, m.deleted_at_source IS NOT NULL, mail_search.words_key(m.words_sha256),
        mail_search.word_places(m.mailbox_id, m.received_at)
    INTO NEW.folder_id, NEW.received_at, NEW.deleted, NEW.words_key, NEW.places
    FROM public.mailsearch_message m WHERE m.id = NEW.message_id;
    RETURN NEW;
END $$;
DROP TRIGGER place_words ON mailsearch_searchdocument;
CREATE TRIGGER place_words BEFORE INSERT ON mailsearch_searchdocument
FOR EACH ROW WHEN (NEW.places IS NULL) EXECUTE FUNCTION mail_search.place_words();
"""
INDEXES = """
DROP INDEX IF EXISTS mailsearch_message_public_id_5564fbac_like, mailsearch_thread_public_id_2768f64f_like,
    mailsearch_attachment_public_id_f2d51958_like;
ALTER TABLE mailsearch_participant ALTER COLUMN folded SET STATISTICS 0;
ALTER TABLE mailsearch_message ALTER COLUMN subject_folded SET STATISTICS 0;
ALTER TABLE mailsearch_attachment ALTER COLUMN filename_folded SET STATISTICS 0;
"""


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0016_warm_sessions")]

    operations = [
        # There is no way back, as with the columns that this is about.
        migrations.RunSQL(FUNCTIONS + INDEXES),
        migrations.AlterField(
            "message",
            "mailbox",
            models.ForeignKey("mailsearch.mailbox", models.CASCADE, db_constraint=False, db_index=False),
        ),
    ]
