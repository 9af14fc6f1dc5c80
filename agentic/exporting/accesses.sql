SELECT x.at, x.reader, x.label, x.kind, x.via, x.subjects, false AS worded, NULL AS content, true AS readable
FROM agentic_accesslog x
WHERE x.tenant_id = %(tenant)s AND (%(since)s::timestamptz IS NULL OR x.at >= %(since)s)
ORDER BY x.id
