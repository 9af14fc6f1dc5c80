"""Pages whose statements are all planned before the first is asked for.

A new connection has plans made by a search for nobody, which finds nothing: the one statement of a page that asks
row-level security was not come to, so the first caller waited until it was planned.
"""

from importlib import import_module

from django.db import migrations

own_words = import_module("mailsearch.migrations.0018_own_words")
one_trip = import_module("mailsearch.migrations.0028_page_in_one_trip")

OLD = one_trip.PLANNED[one_trip.PLANNED.index("CREATE FUNCTION mail_search.found(") : one_trip.PLANNED.rindex("REVOKE")]
OLD = OLD.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
FOUND = own_words.changed(
    OLD,
    (
        """    messages := '{}';
    IF cardinality(v_messages) > p_offset THEN
        messages := ARRAY(
            SELECT m.id""",
        """    messages := ARRAY(
            SELECT m.id""",
    ),
    ("            ORDER BY u.place);\n    END IF;\n", "            ORDER BY u.place);\n"),
)


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0030_messages_for_themselves")]

    operations = [migrations.RunSQL(FOUND, OLD)]
