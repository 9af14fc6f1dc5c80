SELECT r.public_id AS run, x.at, x.round, x.final, x.position, x.kept, x.structural, x.support, x.reason, x.qualified,
    x.translated,
    ARRAY(SELECT c.message_id FROM agentic_citation c WHERE c.sentence_id = x.id ORDER BY c.id) AS cites,
    x.payload_id IS NOT NULL AS worded, p.content, {readable} AS readable
FROM agentic_sentence x
JOIN agentic_run r ON r.id = x.run_id
LEFT JOIN agentic_payloadtext p ON p.id = x.payload_id
WHERE x.tenant_id = %(tenant)s AND (%(since)s::timestamptz IS NULL OR x.at >= %(since)s)
ORDER BY x.id
