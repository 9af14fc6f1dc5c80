SELECT x.public_id AS run, x.started_at, x.caller, x.caller_label, st.status, f.outcome, f.reason, x.model, x.policy,
    x.verifier_version, x.max_steps, x.max_seconds, f.steps, f.seconds, f.model_calls, f.tool_calls, f.prompt_tokens,
    f.completion_tokens, f.cost_usd, f.kept, f.removed,
    s.number AS seal_number, encode(s.hash, 'hex') AS seal_head, s.signature AS seal_signature,
    x.payload_id IS NOT NULL AS worded, p.content,
    -- A question is its caller's own.
    true AS readable
FROM agentic_run x
LEFT JOIN agentic_payloadtext p ON p.id = x.payload_id
JOIN agentic_runstate st ON st.run_id = x.id
LEFT JOIN agentic_runfinished f ON f.run_id = x.id
LEFT JOIN agentic_seal s ON s.tenant_id = x.tenant_id AND s.kind = 'run' AND s.row = x.id
WHERE x.tenant_id = %(tenant)s AND (%(since)s::timestamptz IS NULL OR x.started_at >= %(since)s)
ORDER BY x.id
