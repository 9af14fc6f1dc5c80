"""What a new session learns on its first search, learnt before it serves anybody.

Functions are read and their statements planned once a session, and the dictionaries of thirty languages are loaded where
a word is first looked up in them. A pool asks for all of that when it connects, so that no search waits for it.
"""

from django.db import migrations

WARM = """
CREATE FUNCTION mail_search.warm() RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM ts_lexize(d.oid::regdictionary, 'word') FROM pg_ts_dict d WHERE d.dictname ~ '_stem$';
    -- For nobody and by a word that no mail holds, so that nothing is looked at.
    PERFORM set_config('app.tenant', '', true), set_config('app.mailboxes', '{}', true);
    PERFORM FROM mail_search.standing('{}', NULL, NULL, '{- -}');
    PERFORM FROM mail_search.best(
        '{}', NULL, NULL, '''- -''', NULL, '{''- -''}', '{1}', '{1}', '{1,1}', '{1,1}', false, 1, true);
    PERFORM FROM mail_search.best(
        '{}', NULL, NULL, '''- -''', '''- -'' | ''- .''', '{''- -'',''- .''}', '{1,1}', '{1,1}', '{1,1}', '{1,1}', false, 1, true);
    PERFORM FROM mail_search.first_bearers_of('{}', '{}', NULL, NULL);
END $$;
REVOKE EXECUTE ON FUNCTION mail_search.warm() FROM PUBLIC;
"""


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0015_near_enough")]

    operations = [migrations.RunSQL(WARM, "DROP FUNCTION mail_search.warm();")]
