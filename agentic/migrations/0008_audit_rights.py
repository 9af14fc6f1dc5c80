"""Guard what was set apart: texts that only the eraser may delete, seals, and accesses that only a function may add."""

from django.db import migrations

CONDITION = "tenant_id = ANY (nullif(current_setting('app.audit', true), '')::bigint[])"
ADD_ONLY = ("erasedtext", "seal", "accesslog")
BOUND = ("payloadtext", "accesslog")

FUNCTIONS = """
-- The role's name begins with the database's (agentic/server/roles.py).
CREATE FUNCTION mail_search.is_eraser() RETURNS boolean LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$ SELECT current_user = current_database() || '_eraser' $$;

CREATE FUNCTION mail_search.only_erased() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP <> 'DELETE' OR NOT mail_search.is_eraser() THEN
        RAISE EXCEPTION 'rows of % are added, and deleted by the eraser alone', TG_TABLE_NAME
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN OLD;
END $$;

CREATE FUNCTION mail_search.acts_of_the_eraser() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT mail_search.is_eraser() THEN
        RAISE EXCEPTION 'only the eraser records such an act' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION mail_search.only_forward() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.tenant_id <> OLD.tenant_id OR NEW.number NOT IN (OLD.number, OLD.number + 1) THEN
        RAISE EXCEPTION 'a chain only goes on' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;

-- Whoever reads is written down here and nowhere else.
CREATE FUNCTION mail_search.record_access(
    p_tenant bigint, p_reader text, p_label text, p_kind text, p_via text, p_subjects text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    INSERT INTO public.agentic_accesslog (tenant_id, at, reader, label, kind, via, subjects)
    VALUES (p_tenant, clock_timestamp(), p_reader, left(p_label, 200), p_kind, p_via, p_subjects);
END $$;

-- Before a row takes its number: so a sealer that holds the lock alone knows that no lower number will come.
CREATE FUNCTION mail_search.enter_batch() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(1633903475, 0);
    RETURN NULL;
END $$;

REVOKE EXECUTE ON FUNCTION mail_search.is_eraser(), mail_search.only_erased(), mail_search.acts_of_the_eraser(),
    mail_search.only_forward(), mail_search.enter_batch(), mail_search.record_access(bigint, text, text, text, text, text[]) FROM PUBLIC;
"""
DROP_FUNCTIONS = """
DROP FUNCTION mail_search.enter_batch();
DROP FUNCTION mail_search.record_access(bigint, text, text, text, text, text[]);
DROP FUNCTION mail_search.only_forward();
DROP FUNCTION mail_search.acts_of_the_eraser();
DROP FUNCTION mail_search.only_erased();
DROP FUNCTION mail_search.is_eraser();
"""


def guard(table: str, name: str, when: str, function: str) -> tuple[str, str]:
    return (
        f"CREATE TRIGGER {name} BEFORE {when} EXECUTE FUNCTION mail_search.{function}();"
        f" ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name};",
        f"DROP TRIGGER {name} ON {table}",
    )


def truncation(table: str) -> tuple[str, str]:
    name = f"agentic_{table}"
    return guard(name, "never_truncated", f"TRUNCATE ON {name} FOR EACH STATEMENT", "refuse_change")


def add_only(table: str) -> tuple[str, str]:
    name = f"agentic_{table}"
    return guard(name, "add_only", f"UPDATE OR DELETE ON {name} FOR EACH ROW", "refuse_change")


ERASERS_ACTS = "('message erased', 'words ran out', 'legal hold set', 'legal hold lifted')"
GUARDS = [
    *(add_only(table) for table in ADD_ONLY),
    *(truncation(table) for table in (*ADD_ONLY, "payloadtext", "tenantchain")),
    guard("agentic_payloadtext", "only_erased", "UPDATE OR DELETE ON agentic_payloadtext FOR EACH ROW", "only_erased"),
    *(
        guard(f"agentic_{table}", "enter_batch", f"INSERT ON agentic_{table} FOR EACH STATEMENT", "enter_batch")
        for table in ("accesslog", "callerattempt")
    ),
    guard("agentic_tenantchain", "only_forward", "UPDATE ON agentic_tenantchain FOR EACH ROW", "only_forward"),
    guard("agentic_tenantchain", "never_deleted", "DELETE ON agentic_tenantchain FOR EACH ROW", "refuse_change"),
    guard(
        "agentic_adminact",
        "acts_of_the_eraser",
        f"INSERT ON agentic_adminact FOR EACH ROW WHEN (NEW.act IN {ERASERS_ACTS})",
        "acts_of_the_eraser",
    ),
]


class Migration(migrations.Migration):
    dependencies = [("agentic", "0007_texts_and_chains")]

    operations = [
        migrations.RunSQL(FUNCTIONS, DROP_FUNCTIONS),
        *(migrations.RunSQL(do, undo) for do, undo in GUARDS),
        *(
            migrations.RunSQL(
                f"ALTER TABLE agentic_{table} ENABLE ROW LEVEL SECURITY;"
                f"CREATE POLICY within_audit ON agentic_{table} USING ({CONDITION}) WITH CHECK ({CONDITION});",
                f"DROP POLICY within_audit ON agentic_{table}; ALTER TABLE agentic_{table} DISABLE ROW LEVEL SECURITY;",
            )
            for table in BOUND
        ),
    ]
