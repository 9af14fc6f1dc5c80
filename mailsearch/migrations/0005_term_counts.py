"""Keep, by mailbox, in how many searchable messages each word occurs.

New messages are counted in bulk (`mailsearch.termcounts`), which is many times cheaper than one by one; the mailbox
remembers how far. What changes afterwards is corrected by triggers: quarantined mail and mail deleted at its source
is in no scope, so it is not counted, and words whose last message went leave no row behind.
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
        PERFORM pg_advisory_xact_lock(hashtextextended('mailsearch term counts', v_mailbox));
    END LOOP;
    INSERT INTO public.mailsearch_termcount AS t (tenant_id, mailbox_id, lexeme, documents)
    SELECT m.tenant_id, m.mailbox_id, w.lexeme, p_by * count(*)
    FROM unnest(p_messages, p_words) AS d (message_id, words)
    JOIN public.mailsearch_message m ON m.id = d.message_id
    -- The empty word occurs in every message: it counts messages.
    CROSS JOIN LATERAL (SELECT u.lexeme FROM unnest(d.words) AS u UNION ALL SELECT '') AS w
    GROUP BY 1, 2, 3 ORDER BY 2, 3
    ON CONFLICT (mailbox_id, lexeme) DO UPDATE SET documents = t.documents + excluded.documents;
    IF p_by < 0 THEN
        DELETE FROM public.mailsearch_termcount t USING public.mailsearch_message m
        WHERE m.id = ANY (p_messages) AND t.mailbox_id = m.mailbox_id AND t.documents <= 0;
    END IF;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.count_words(bigint[], tsvector[], integer) FROM PUBLIC;

-- Counts what came into a mailbox of the session since the last time; returns how many messages that were.
CREATE FUNCTION mail_search.count_new_words(p_mailbox bigint) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_from bigint;
    v_until bigint;
    v_taken bigint;
    v_messages bigint[];
    v_words tsvector[];
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('mailsearch term counts', p_mailbox));
    SELECT counted_until INTO v_from FROM public.mailsearch_mailbox
    WHERE id = p_mailbox AND tenant_id = nullif(current_setting('app.tenant', true), '')::bigint
      AND id = ANY (nullif(current_setting('app.mailboxes', true), '')::bigint[]);
    SELECT max(message_id), count(*) INTO v_until, v_taken FROM (
        SELECT message_id FROM public.mailsearch_searchdocument
        WHERE mailbox_id = p_mailbox AND message_id > v_from ORDER BY message_id LIMIT 20000) AS next;
    IF v_until IS NULL THEN
        RETURN 0;
    END IF;
    SELECT array_agg(d.message_id), array_agg(d.words) INTO v_messages, v_words
    FROM public.mailsearch_searchdocument d JOIN public.mailsearch_message m ON m.id = d.message_id
    WHERE d.mailbox_id = p_mailbox AND d.message_id > v_from AND d.message_id <= v_until
      AND NOT d.quarantined AND m.deleted_at_source IS NULL;
    PERFORM mail_search.count_words(v_messages, v_words, 1);
    UPDATE public.mailsearch_mailbox SET counted_until = v_until WHERE id = p_mailbox;
    RETURN v_taken;
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.count_new_words(bigint) FROM PUBLIC;

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

CREATE INDEX search_document_by_mailbox ON mailsearch_searchdocument (mailbox_id, message_id);
"""
UNDO = """
DROP INDEX search_document_by_mailbox;
DROP TRIGGER count_moved ON mailsearch_message;
DROP TRIGGER count_removed ON mailsearch_searchdocument;
DROP TRIGGER count_changed_old ON mailsearch_searchdocument;
DROP TRIGGER count_changed_new ON mailsearch_searchdocument;
DROP FUNCTION mail_search.words_changed();
DROP FUNCTION mail_search.words_moved();
DROP FUNCTION mail_search.count_new_words(bigint);
DROP FUNCTION mail_search.count_words(bigint[], tsvector[], integer);
"""


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0004_search_functions")]

    operations = [migrations.RunSQL(COUNTING, UNDO)]
