"""Who bore a name first is looked for by what names look like.

Whoever imitates a person changes a letter for one of another alphabet that looks the same, a small l for a capital I,
puts the names in another order or leaves out a space; each of these made a name that nobody was known by.
"""

from importlib import import_module

from django.db import migrations, models

from mailsearch.names import likeness

before = import_module("mailsearch.migrations.0010_first_bearers")
changed = import_module("mailsearch.migrations.0018_own_words").changed
page = import_module("mailsearch.migrations.0023_page_in_one")
quicker = import_module("mailsearch.migrations.0034_quicker_pages")

INDEXES = """
CREATE INDEX participant_by_likeness ON mailsearch_participant
    (mailbox_id, name_key, received_at, id) WHERE name <> '' AND address <> '';
CREATE INDEX participant_by_likeness_in_tenant ON mailsearch_participant
    (tenant_id, name_key, received_at, id) WHERE name <> '' AND address <> '';
DROP INDEX participant_by_first_name;
DROP INDEX participant_by_name_in_tenant;
"""
OLD_INDEXES = f"""
{before.FIRST[: before.FIRST.index("DROP INDEX")]}
{quicker.INDEX}
DROP INDEX participant_by_likeness;
DROP INDEX participant_by_likeness_in_tenant;
"""
_FIRST_BEARERS = before.FIRST[before.FIRST.index("CREATE OR REPLACE FUNCTION") :]
# The names that are asked for are likenesses, too.
FIRST_BEARERS = changed(
    _FIRST_BEARERS, ("left(lower(p.name), 100)", "p.name_key"), ("left(lower(n.name), 100)", "n.name")
)
FIRST_BEARERS_OF = changed(page.FIRST_BEARERS, ("left(lower(p.name), 100)", "p.name_key"))
WRITTEN = changed(
    quicker.WRITTEN,
    ("left(lower(p.name), 100)", "p.name_key"),
    ("lower(p.name)", "p.name_key"),
    ("p.received_at, p.name, p.address", "p.received_at, p.name_key, p.address"),
    ("lower(first.name)", "first.name_key"),
    ("p.role, p.name, p.address", "p.role, p.name, p.name_key, p.address"),
    ("lower(one.name)", "one.name_key"),
)


def fill(apps, schema_editor):
    """Give the names that are there their likeness."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT name FROM mailsearch_participant WHERE name <> ''")
        known = [(name, likeness(name)) for (name,) in cursor.fetchall()]
        cursor.execute("CREATE TEMPORARY TABLE likenesses (name text, name_key text) ON COMMIT DROP")
        with cursor.copy("COPY likenesses (name, name_key) FROM STDIN") as copy:
            for row in known:
                copy.write_row(row)
        cursor.execute(
            "UPDATE mailsearch_participant p SET name_key = l.name_key FROM likenesses l WHERE l.name = p.name"
        )


class Migration(migrations.Migration):
    dependencies = [("mailsearch", "0034_quicker_pages")]

    operations = [
        migrations.AddField("participant", "name_key", models.TextField(blank=True, default="")),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.RunSQL(
            INDEXES + FIRST_BEARERS + FIRST_BEARERS_OF + WRITTEN,
            OLD_INDEXES + _FIRST_BEARERS + page.FIRST_BEARERS + quicker.WRITTEN,
        ),
    ]
