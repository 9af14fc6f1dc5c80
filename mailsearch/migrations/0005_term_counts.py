"""Keep right, by mailbox, in how many searchable messages each word occurs.

New messages are counted in bulk (`mailsearch.ingest.counting`), which is many times cheaper than one by one; the
mailbox remembers how far, and with each step of that mark the messages themselves are counted under the empty word.
What changes afterwards is corrected by triggers: quarantined mail and mail deleted at its source is in no scope, so
it is not counted, and words whose last message went leave no row behind.
"""

from django.db import migrations

COUNTING = """
-- p_by is 1 or -1. Writers of a mailbox take turns, so that two imports can't wait for each other's words.
CREATE FUNCTION mail_search.count_words(p_messages bigint[], p_words tsvector[], p_by integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_mailbox bigint;
BEGIN
    FOR v_mailbox IN
        SELECT DISTINCT m.mailbox_id FROM public.mailsearch_message m WHERE m.id = ANY (p_messages) ORDER BY 1
    LOOP
        PERFORM FROM public.mailsearch_mailbox b WHERE b.id = v_mailbox FOR NO KEY UPDATE;
    END LOOP;
    INSERT INTO public.mailsearch_termcount AS t (tenant_id, mailbox_id, lexeme, documents)
    SELECT m.tenant_id, m.mailbox_id, w.lexeme, p_by * count(*)
    FROM unnest(p_messages, p_words) AS d (message_id, words)
    JOIN public.mailsearch_message m ON m.id = d.message_id
    CROSS JOIN LATERAL (SELECT u.lexeme FROM unnest(d.words) AS u UNION ALL SELECT '') AS w
    GROUP BY 1, 2, 3 ORDER BY 2, 3
    ON CONFLICT (mailbox_id, lexeme) DO UPDATE SET documents = t.documents + excluded.documents;
    IF p_by < 0 THEN
        DELETE FROM public.mailsearch_termcount t USING public.mailsearch_message m
        WHERE m.id = ANY (p_messages) AND t.mailbox_id = m.mailbox_id AND t.documents <= 0;
    END IF;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.count_words(bigint[], tsvector[], integer) FROM PUBLIC;

-- How many messages are counted stands under the empty word.
CREATE FUNCTION mail_search.messages_counted() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.counted_until < OLD.counted_until THEN
        DELETE FROM public.mailsearch_termcount WHERE mailbox_id = NEW.id AND lexeme = '';
    END IF;
    INSERT INTO public.mailsearch_termcount AS t (tenant_id, mailbox_id, lexeme, documents)
    SELECT NEW.tenant_id, NEW.id, '', count(*) FROM public.mailsearch_searchdocument d
    JOIN public.mailsearch_message m ON m.id = d.message_id
    WHERE d.mailbox_id = NEW.id AND NOT d.quarantined AND m.deleted_at_source IS NULL
      AND d.message_id <= NEW.counted_until
      AND (NEW.counted_until < OLD.counted_until OR d.message_id > OLD.counted_until)
    HAVING count(*) > 0
    ON CONFLICT (mailbox_id, lexeme) DO UPDATE SET documents = t.documents + excluded.documents;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.messages_counted() FROM PUBLIC;

CREATE FUNCTION mail_search.words_changed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM mail_search.count_words(array_agg(c.message_id), array_agg(c.words), TG_ARGV[0]::integer)
    FROM changed c JOIN public.mailsearch_message m ON m.id = c.message_id
    JOIN public.mailsearch_mailbox b ON b.id = m.mailbox_id
    WHERE NOT c.quarantined AND m.deleted_at_source IS NULL AND m.id <= b.counted_until HAVING count(*) > 0;
    RETURN NULL;
END $$;
CREATE FUNCTION mail_search.words_moved() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM mail_search.count_words(
        array_agg(d.message_id), array_agg(d.words), CASE WHEN NEW.deleted_at_source IS NULL THEN 1 ELSE -1 END)
    FROM public.mailsearch_searchdocument d JOIN public.mailsearch_mailbox b ON b.id = d.mailbox_id
    WHERE d.message_id = NEW.id AND NOT d.quarantined AND NEW.id <= b.counted_until HAVING count(*) > 0;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.words_changed(), mail_search.words_moved() FROM PUBLIC;

CREATE TRIGGER count_removed AFTER DELETE ON mailsearch_searchdocument
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION mail_search.words_changed('-1');
CREATE TRIGGER count_changed_old AFTER UPDATE ON mailsearch_searchdocument
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION mail_search.words_changed('-1');
CREATE TRIGGER count_changed_new AFTER UPDATE ON mailsearch_searchdocument
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION mail_search.words_changed('1');
CREATE TRIGGER count_moved AFTER UPDATE OF deleted_at_source ON mailsearch_message
FOR EACH ROW WHEN ((OLD.deleted_at_source IS NULL) IS DISTINCT FROM (NEW.deleted_at_source IS NULL))
EXECUTE FUNCTION mail_search.words_moved();

CREATE TRIGGER count_messages AFTER UPDATE OF counted_until ON mailsearch_mailbox
FOR EACH ROW WHEN (OLD.counted_until <> NEW.counted_until) EXECUTE FUNCTION mail_search.messages_counted();

CREATE INDEX search_document_by_mailbox ON mailsearch_searchdocument (mailbox_id, message_id);
"""
UNDO = """
DROP INDEX search_document_by_mailbox;
DROP TRIGGER count_messages ON mailsearch_mailbox;
DROP TRIGGER count_moved ON mailsearch_message;
DROP TRIGGER count_removed ON mailsearch_searchdocument;
DROP TRIGGER count_changed_old ON mailsearch_searchdocument;
DROP TRIGGER count_changed_new ON mailsearch_searchdocument;
DROP FUNCTION mail_search.words_changed();
DROP FUNCTION mail_search.words_moved();
DROP FUNCTION mail_search.messages_counted();
DROP FUNCTION mail_search.count_words(bigint[], tsvector[], integer);
"""


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0004_search_functions")]

    operations = [migrations.RunSQL(COUNTING, UNDO)]
