"""What a store holds, so that two imports can be compared: hashes without ids of rows, and bytes by message."""

import psycopg

# Each gives one text a row. Rows are named by the content of their message; what differs between two imports of the
# same mail (ids, times of import) is left out.
_ROWS = {
    "messages": """
        SELECT concat_ws('|', encode(m.content_sha256, 'hex'), encode(c.content_sha256, 'hex'), m.rfc_message_id,
               m.subject, m.language, m.quarantined, m.sent_at, m.attachment_count, md5(m.body_text), m.body_regions,
               m.body_blocks, m.defects, t.first)
        FROM mailsearch_message m LEFT JOIN mailsearch_message c ON c.id = m.container_id
        JOIN (SELECT thread_id, min(encode(content_sha256, 'hex')) AS first FROM mailsearch_message GROUP BY 1) AS t
             ON t.thread_id = m.thread_id WHERE m.tenant_id = %(tenant)s""",
    "raw": """
        SELECT concat_ws('|', encode(m.content_sha256, 'hex'), md5(r.data)) FROM mailsearch_rawmessage r
        JOIN mailsearch_message m ON m.id = r.message_id WHERE m.tenant_id = %(tenant)s""",
    "participants": """
        SELECT concat_ws('|', encode(m.content_sha256, 'hex'), p.role, p.position, p.name, p.address)
        FROM mailsearch_participant p JOIN mailsearch_message m ON m.id = p.message_id
        WHERE m.tenant_id = %(tenant)s""",
    "attachments": """
        SELECT concat_ws('|', encode(m.content_sha256, 'hex'), a.position, a.filename, a.state, a.size, md5(a.text))
        FROM mailsearch_attachment a JOIN mailsearch_message m ON m.id = a.message_id WHERE m.tenant_id = %(tenant)s""",
    "index": """
        SELECT concat_ws('|', encode(m.content_sha256, 'hex'), d.length, md5(d.words::text))
        FROM mailsearch_searchdocument d JOIN mailsearch_message m ON m.id = d.message_id
        WHERE m.tenant_id = %(tenant)s""",
    "passages": """
        SELECT concat_ws('|', encode(m.content_sha256, 'hex'), a.position, p.start, p."end")
        FROM mailsearch_passage p JOIN mailsearch_message m ON m.id = p.message_id
        LEFT JOIN mailsearch_attachment a ON a.id = p.attachment_id WHERE m.tenant_id = %(tenant)s""",
    "ids": """
        SELECT concat_ws('|', encode(k.rfc_id_sha256, 'hex'), k.arrived, min(encode(m.content_sha256, 'hex')))
        FROM mailsearch_threadkey k LEFT JOIN mailsearch_message m USING (thread_id)
        WHERE k.tenant_id = %(tenant)s GROUP BY k.id""",
    "counts": "SELECT concat_ws('|', lexeme, documents) FROM mailsearch_termcount WHERE tenant_id = %(tenant)s",
}
# Without raw copies and vectors.
_SIZE = """
    SELECT sum(pg_total_relation_size(oid)) / (SELECT greatest(count(*), 1) FROM mailsearch_message)
    FROM pg_class WHERE relkind = 'r' AND relname LIKE 'mailsearch\\_%'
      AND relname NOT IN ('mailsearch_rawmessage', 'mailsearch_passagevector')"""


def fingerprint(conninfo: str, tenant: int) -> dict[str, str]:
    """For each kind of row of *tenant*, how many there are and a hash of them all. *conninfo* must see every row."""
    found: dict[str, str] = {}
    with psycopg.connect(conninfo) as conn:
        for name, query in _ROWS.items():
            hashed = f"SELECT count(*) || ' ' || md5(string_agg(t, E'\\n' ORDER BY t)) FROM ({query}) AS r(t)"
            row = conn.execute(hashed, {"tenant": tenant}).fetchone()
            found[name] = str(row and row[0])
    return found


def size(conninfo: str) -> int:
    """Bytes on disk by message, indexes included, without raw copies and vectors."""
    with psycopg.connect(conninfo, autocommit=True) as conn:
        row = conn.execute(_SIZE).fetchone()
    return int(row[0]) if row else 0
