-- Rows for the benchmark of the pages. In braces stand numbers of the benchmark's own, and names that it made.
SET session_replication_role = replica;
SET synchronous_commit = off;
CREATE TEMPORARY TABLE mail AS SELECT row_number() OVER () - 1 AS n, public_id, head FROM json_to_recordset('{mail}')
    AS t (public_id text, head json);
CREATE INDEX ON mail (n);
-- Numbers of runs begin after those that were really asked. One in a thousand is of another tenant, the oldest of all.
INSERT INTO agentic_run (id, tenant_id, public_id, caller, caller_label, timezone, asked_now, scope, max_steps,
    max_seconds, model, policy, removed_text, verifier_version, prompt_hashes, service_version, evaluation, started_at,
    payload_id)
SELECT {first} + n, CASE WHEN n <= {runs} / 1000 THEN {small} ELSE {tenant} END, 'run_' || md5(n::text),
    CASE WHEN n % 2 = 0 THEN '{caller}' ELSE 'key:bench' END, 'bench', 'UTC', now(), '{{"folders": []}}', 6, 8,
    CASE WHEN n = 77 THEN 'rare' ELSE 'model' END, 'standard', 'masked', CASE WHEN n % 2 = 0 THEN '1' ELSE '2' END,
    '{{}}', '0', false, now() - make_interval(mins => {runs} - n), md5('run' || n)::uuid
FROM generate_series(1, {runs}) n;
INSERT INTO agentic_runstate (run_id, tenant_id, status, cancel_requested, reserved_tokens, reserved_cost_usd)
SELECT id, tenant_id, 'finished', false, 0, 0 FROM agentic_run WHERE id > {first};
INSERT INTO agentic_runfinished (tenant_id, run_id, at, outcome, reason, steps, seconds, model_calls, tool_calls,
    prompt_tokens, cached_tokens, completion_tokens, cost_usd, kept, removed, model, coverage, first_evidence_ms)
SELECT tenant_id, id, started_at, CASE WHEN id % 97 = 0 THEN 'degraded' ELSE 'answered' END, '', 1 + id % 5,
    0.5 + id % 70 / 10.0, 3, 4, 900, 0, 90, 0.001, 8, 2, 'model', '{{}}', 100 + id % 900
FROM agentic_run WHERE id > {first};
INSERT INTO agentic_payloadtext (id, tenant_id, run_id, message, kind, salt, content, at)
SELECT payload_id, tenant_id, id, '', 'question', '\x00',
    json_build_object('question', 'What is number ' || id || '?', 'filters', '{{}}'::json), started_at
FROM agentic_run WHERE id > {first};
-- Sentences of the runs, one in five removed; every second of those for want of a fact.
INSERT INTO agentic_sentence (id, tenant_id, run_id, at, round, final, position, kept, structural, support, reason,
    qualified, translated, later_message, payload_id)
SELECT n, CASE WHEN n <= {sentences} / 1000 THEN {small} ELSE {tenant} END, {first} + (n - 1) / {each} + 1,
    now() - make_interval(mins => {runs} - (n - 1) / {each} - 1), 1, true, n % {each}, n % 5 <> 0, false, 'quote',
    CASE WHEN n % 5 <> 0 THEN '' WHEN n % 5000 = 0 THEN 'quilt' ELSE 'fact_not_found' END, false, false, '',
    md5('sentence' || n)::uuid
FROM generate_series({kept} + 1, {sentences}) n;
INSERT INTO agentic_payloadtext (id, tenant_id, run_id, message, kind, salt, content, at)
SELECT md5('sentence' || n)::uuid, CASE WHEN n <= {sentences} / 1000 THEN {small} ELSE {tenant} END,
    {first} + (n - 1) / {each} + 1, '', 'sentence', '\x00', json_build_object('drafted',
    'The number ' || n || ' was paid.', 'text', 'The number ' || n || ' was paid.', 'detail', '{{}}'::json), now()
FROM generate_series({kept} + 1, {sentences}) n;
INSERT INTO agentic_citation (tenant_id, run_id, sentence_id, at, label, message_id, part, start, "end")
SELECT tenant_id, run_id, s.id, at, 'm00000', mail.public_id, 'body', 1, 9
FROM agentic_sentence s JOIN mail ON mail.n = run_id % (SELECT count(*) FROM mail)
WHERE kept AND s.id > {kept};
-- Three messages a run.
INSERT INTO agentic_evidence (tenant_id, run_id, at, seq, label, message_id, payload_id)
SELECT tenant_id, run.id, started_at, k, 'm0000' || k, mail.public_id, md5('evidence' || run.id || k)::uuid
FROM agentic_run run CROSS JOIN generate_series(0, 2) k JOIN mail ON mail.n = (run.id + k) % (SELECT count(*) FROM mail)
WHERE run.id > {first};
INSERT INTO agentic_payloadtext (id, tenant_id, run_id, message, kind, salt, content, at)
SELECT e.payload_id, e.tenant_id, run_id, message_id, 'evidence', '\x00', json_build_object('head', mail.head,
    'excerpts', json_build_array(json_build_object('part', 'body', 'page', null, 'start', 1, 'end', 9, 'text',
    'The number ' || run_id || ' was paid by the office.', 'marks', '[]'::json))), e.at
FROM agentic_evidence e JOIN mail ON mail.public_id = message_id WHERE run_id > {first};
INSERT INTO agentic_widenattempt (tenant_id, run_id, at, kind, step, tool, argument, read_before)
SELECT r.tenant_id, r.id, started_at, 'outside_scope', 1, 'search', 'mailbox',
    ARRAY(SELECT message_id FROM agentic_evidence e WHERE e.run_id = r.id)
FROM agentic_run r WHERE r.id % 5 = 0 AND r.id > {first} ORDER BY r.id;
INSERT INTO agentic_callerattempt (tenant_id, at, caller, caller_label, kind, tool, argument)
SELECT {tenant}, now(), 'key:' || n % 50, 'key ' || n % 50, 'unseen_id', 'read_message', 'message_id'
FROM generate_series(1, {runs} / 5) n;
-- What people did: notes on sentences, every second of a sample; who read what; recorded acts.
INSERT INTO agentic_note (id, tenant_id, at, author_id, sentence_id, verdict)
SELECT n, {tenant}, now(), {person}, {sentences} - 11 * n, CASE WHEN n % 9 = 0 THEN 'wrongly' ELSE 'rightly' END
FROM generate_series(1, {runs} / 10) n;
INSERT INTO agentic_samplednote (note_id, tenant_id, sample) SELECT id, tenant_id, 'abcd:1' FROM agentic_note
WHERE id % 2 = 0;
INSERT INTO agentic_accesslog (tenant_id, at, reader, label, kind, via, subjects)
SELECT {tenant}, now(), 'user:' || n % 50, 'someone', 'message', 'page', ARRAY['msg_' || md5(n::text)]
FROM generate_series(1, {runs} * 2) n;
INSERT INTO agentic_adminact (tenant_id, at, actor, act, detail)
SELECT {tenant}, now(), 'user:1', 'key created', '{{}}' FROM generate_series(1, {runs} / 10) n;
-- The newest runs have traces, for what lower limits would have made of them.
INSERT INTO agentic_traceevent (tenant_id, run_id, at, seq, at_ms, phase, step, event, facts)
SELECT tenant_id, run_id, at, k, 100 * k, 'plan', k / 2, (ARRAY['asked', 'replied', 'found', 'drafted'])[1 + k % 4], '{{}}'
FROM (SELECT * FROM agentic_runfinished ORDER BY id DESC LIMIT 1000) f CROSS JOIN generate_series(1, 12) k;
SET session_replication_role = origin;
ANALYZE;
