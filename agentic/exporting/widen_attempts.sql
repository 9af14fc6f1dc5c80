SELECT r.public_id AS run, x.at, x.kind, x.step, x.tool, x.argument, x.read_before,
    x.payload_id IS NOT NULL AS worded, p.content, {readable} AS readable
FROM agentic_widenattempt x
JOIN agentic_run r ON r.id = x.run_id
LEFT JOIN agentic_payloadtext p ON p.id = x.payload_id
WHERE x.tenant_id = %(tenant)s AND (%(since)s::timestamptz IS NULL OR x.at >= %(since)s)
ORDER BY x.id
