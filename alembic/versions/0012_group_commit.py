"""Appends of many users in one commit: the function, what its role may do, and the columns that it numbers."""

from alembic import op

from app.infra.db.policies import APP_ROLE, FUNCTION_ROLE

revision = "0012_group_commit"
down_revision = "0011_record"
branch_labels = None
depends_on = None

# What the functions' role may do, for the users of the batch at hand alone. It can't even read what is sealed in a
# session.
RIGHTS = {
    "users": "UPDATE (change_number)",
    "sessions": "SELECT (tenant, usr, id, next_seq, message_count, summary_seq, content_version, version, window_size,"
    " ttl_s, last_active_at), UPDATE (next_seq, message_count, version, last_active_at, expires_at)",
    "messages": "INSERT",
    "segment_items": "INSERT",
    "audit_log": "INSERT",
    "idempotency": "SELECT, INSERT, UPDATE",
}
# The function says who is in the batch. The sub-select makes it a question of the statement, not of each row.
IN_BATCH = "(SELECT nullif(current_setting('app.batch', true), '')::jsonb) ->> usr::text = tenant"
POLICIES = {
    # To lock a row it must be one that could be updated; that it could be written is another matter.
    "users": f"FOR UPDATE TO {FUNCTION_ROLE} USING ({IN_BATCH}) WITH CHECK (false)",
    **{table: f"TO {FUNCTION_ROLE} USING ({IN_BATCH}) WITH CHECK ({IN_BATCH})" for table in RIGHTS if table != "users"},
}
ENQUEUE_FOR = "enqueue_for(text, text, text[], uuid[])"
APPEND = (
    "append_messages(boolean, integer, jsonb, text[], uuid[], text[], text[], text[], text[], uuid[], text[],"
    " bytea[], bytea[], integer[], uuid[], text[], bytea[], bytea[], timestamptz[], uuid[], bytea[])"
)


def upgrade() -> None:
    """Add the columns, which code that doesn't know them leaves empty, and make the functions."""
    # Sealed before their numbers are known: these stand beside what is sealed.
    op.execute("ALTER TABLE segment_items ADD COLUMN ordinal bigint, ADD COLUMN time_ms bigint")
    op.execute("""
        ALTER TABLE idempotency ADD COLUMN first_seq bigint, ADD COLUMN message_ids uuid[],
            ADD COLUMN message_times timestamptz[]
    """)
    for table, rights in RIGHTS.items():
        op.execute(f"GRANT {rights} ON {table} TO {FUNCTION_ROLE}")
        op.execute(f"CREATE POLICY batch ON {table} {POLICIES[table]}")
    op.execute(ENQUEUE_FOR_BODY)
    op.execute(APPEND_BODY)
    op.execute(f"GRANT CREATE ON SCHEMA public TO {FUNCTION_ROLE}")
    for function in (ENQUEUE_FOR, APPEND):
        op.execute(f"ALTER FUNCTION {function} OWNER TO {FUNCTION_ROLE}")
    op.execute(f"REVOKE CREATE ON SCHEMA public FROM {FUNCTION_ROLE}")
    # A function's rights are its owner's to give.
    op.execute(f"SET LOCAL ROLE {FUNCTION_ROLE}")
    for function in (ENQUEUE_FOR, APPEND):
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {APPEND} TO {APP_ROLE}")
    op.execute("RESET ROLE")


def downgrade() -> None:
    """Drop them. Messages that wait to be embedded lose their places in the index until they are indexed anew."""
    op.execute(f"DROP FUNCTION {APPEND}")
    op.execute(f"DROP FUNCTION {ENQUEUE_FOR}")
    # Rights stay, where another revision may have given them too: without a policy they show nothing.
    for table in RIGHTS:
        op.execute(f"DROP POLICY batch ON {table}")
    op.execute("ALTER TABLE idempotency DROP COLUMN first_seq, DROP COLUMN message_ids, DROP COLUMN message_times")
    op.execute("ALTER TABLE segment_items DROP COLUMN ordinal, DROP COLUMN time_ms")


# A job that each of these users is owed once, as by `enqueue`: one that waits already is held by a row lock until this
# transaction ends, so that it can't start before what it is owed for is committed; one that has started is too late.
# Rows are taken in one order: two batches don't wait for each other.
ENQUEUE_FOR_BODY = """
CREATE FUNCTION enqueue_for(job text, once text, of_tenant text[], of_usr uuid[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = queue, pg_temp AS $$
DECLARE
    owed text[] := ARRAY(SELECT job || '/' || u.usr || '/' || once FROM unnest(of_usr) AS u (usr));
    held text[];
    made text[];
BEGIN
    WHILE owed <> '{}' LOOP
        held := ARRAY(
            SELECT j.queueing_lock FROM procrastinate_jobs j
            WHERE j.queueing_lock = ANY (owed) AND j.status = 'todo'
            ORDER BY j.queueing_lock FOR KEY SHARE
        );
        IF held <> '{}' THEN
            -- Workers have passed it over while it was held: one that sleeps looks again.
            PERFORM pg_notify(
                'procrastinate_queue_v1#user',
                json_build_object('type', 'job_inserted', 'job_id', 0)::text
            );
        END IF;
        WITH inserted AS (
            INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args)
            SELECT 'user', job, 0, 'user:' || u.usr, u.single, jsonb_build_object('tenant', u.tenant, 'usr', u.usr)
            FROM (
                SELECT o.tenant, o.usr, job || '/' || o.usr || '/' || once AS single
                FROM unnest(of_tenant, of_usr) AS o (tenant, usr)
            ) AS u
            WHERE u.single = ANY (owed) AND u.single <> ALL (held)
            ORDER BY u.single
            ON CONFLICT (queueing_lock) WHERE status = 'todo' DO NOTHING
            RETURNING queueing_lock
        )
        SELECT coalesce(array_agg(queueing_lock), '{}') INTO made FROM inserted;
        owed := ARRAY(SELECT o.single FROM unnest(owed) AS o (single) WHERE o.single <> ALL (held || made));
    END LOOP;
END
$$
"""

# One row comes back for each item. Of one that is `busy` the user or the session is held by somebody else (an erasure,
# a deletion), or the user is no more: the write door waits for that, so that one user doesn't stall the others.
# `waits` is for the write door itself, which holds the user's row: then sessions are waited for.
# Rows are taken in one order, users, sessions, jobs, keys: batches don't deadlock. Tables are asked for the batch's
# rows by their keys, whatever the planner makes of the joins.
APPEND_BODY = """
CREATE FUNCTION append_messages(
    waits boolean, keep_s integer, later jsonb,
    item_tenant text[], item_usr uuid[], item_agent text[], item_actor text[], item_request text[], item_address text[],
    item_session uuid[], item_route text[], item_key bytea[], item_digest bytea[],
    message_item integer[], message_id uuid[], message_role text[], message_body bytea[], message_bound bytea[],
    message_created timestamptz[], message_context uuid[], message_index bytea[]
) RETURNS TABLE (
    item integer, fate text, first_seq bigint, stored_at timestamptz, summary_seq bigint, content_version bigint,
    window_size integer, ttl_s integer, version bigint,
    kept_digest bytea, kept_answer bytea, kept_first bigint, kept_ids uuid[], kept_times timestamptz[]
)
-- Plans are kept: one that was made while a table was small would read all of it when it has grown.
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    batch jsonb;
    gated uuid[];
    held text[];
    fates text[];
    done record;
BEGIN
    batch := (SELECT jsonb_object_agg(i.usr, i.tenant) FROM unnest(item_usr, item_tenant) AS i (usr, tenant));
    PERFORM set_config('app.batch', batch::text, true);
    IF NOT waits THEN
        -- What is still waited for, another process's commit of the same key or job, is over in moments or not soon.
        PERFORM set_config('lock_timeout', '500ms', true);
    END IF;
    gated := ARRAY(
        SELECT u.usr FROM users u WHERE u.usr = ANY (item_usr) AND u.state = 'active'
        ORDER BY u.usr FOR KEY SHARE SKIP LOCKED
    );
    IF waits THEN
        PERFORM FROM sessions s
            WHERE s.usr = ANY (gated) AND s.id = ANY (item_session) ORDER BY s.usr, s.id FOR NO KEY UPDATE;
    END IF;
    held := ARRAY(
        SELECT s.usr || '/' || s.id FROM sessions s
        WHERE s.usr = ANY (gated) AND s.id = ANY (item_session) AND (s.usr, s.id) IN (
            SELECT i.usr, i.session FROM unnest(item_usr, item_session) AS i (usr, session)
        )
        ORDER BY s.usr, s.id FOR NO KEY UPDATE SKIP LOCKED
    );
    fates := ARRAY(
        SELECT CASE
            WHEN i.usr <> ALL (gated) OR batch ->> i.usr::text <> i.tenant THEN 'busy'
            WHEN k.usr IS NOT NULL AND k.expires_at >= clock_timestamp() THEN 'kept'
            WHEN i.usr || '/' || i.session = ANY (held) THEN 'stored'
            WHEN EXISTS (SELECT FROM sessions s WHERE s.usr = i.usr AND s.id = i.session) THEN 'busy'
            ELSE 'not_found'
        END
        FROM unnest(item_tenant, item_usr, item_agent, item_session, item_route, item_key)
            WITH ORDINALITY AS i (tenant, usr, agent, session, route, key, place)
        LEFT JOIN idempotency k
            ON k.usr = i.usr AND k.agent = coalesce(i.agent, '') AND k.route = i.route AND k.key_tag = i.key
            AND k.usr = ANY (item_usr) AND k.key_tag = ANY (item_key)
        ORDER BY i.place
    );
    PERFORM enqueue_for(later ->> 'index', later ->> 'index_once', array_agg(i.tenant), array_agg(i.usr))
        FROM (
            SELECT DISTINCT i.tenant, i.usr FROM unnest(item_tenant, item_usr) WITH ORDINALITY AS i (tenant, usr, place)
            WHERE fates[i.place] = 'stored' AND EXISTS (
                SELECT FROM unnest(message_item, message_index) AS m (item, body)
                WHERE m.item = i.place AND m.body IS NOT NULL
            )
        ) AS i
        HAVING count(*) > 0;
    FOR done IN
        WITH message AS MATERIALIZED (
            SELECT m.*, row_number() OVER (PARTITION BY m.item ORDER BY m.nth) - 1 AS ordinal
            FROM unnest(
                message_item, message_id, message_role, message_body, message_bound, message_created, message_context,
                message_index
            ) WITH ORDINALITY AS m (item, id, role, body, bound, created, context, index_body, nth)
            WHERE fates[m.item] = 'stored'
        ), wanted AS MATERIALIZED (
            SELECT i.*, c.count, c.ids, c.created,
                (sum(c.count) OVER session)::bigint - c.count AS before, row_number() OVER session AS nth
            FROM unnest(
                item_tenant, item_usr, item_agent, item_actor, item_request, item_address, item_session, item_route,
                item_key, item_digest
            ) WITH ORDINALITY AS i (
                tenant, usr, agent, actor, request, address, session, route, key, digest, place
            )
            JOIN (
                SELECT m.item, count(*) AS count, array_agg(m.id ORDER BY m.nth) AS ids,
                    array_agg(m.created ORDER BY m.nth) AS created
                FROM message m GROUP BY m.item
            ) AS c ON c.item = i.place
            WINDOW session AS (PARTITION BY i.usr, i.session ORDER BY i.place)
        ), numbered AS (
            UPDATE sessions s SET
                next_seq = s.next_seq + w.count,
                message_count = s.message_count + w.count,
                version = s.version + w.items,
                -- The time of the lock and not of the transaction's begin: a later number has a later time.
                last_active_at = greatest(s.last_active_at, clock_timestamp()),
                expires_at = greatest(s.last_active_at, clock_timestamp()) + make_interval(secs => s.ttl_s)
            FROM (
                SELECT w.usr, w.session, sum(w.count)::bigint AS count, count(*) AS items
                FROM wanted w GROUP BY w.usr, w.session
            ) AS w
            WHERE s.usr = w.usr AND s.id = w.session AND s.usr = ANY (gated) AND s.id = ANY (item_session)
            RETURNING s.usr, s.id AS session, s.next_seq - w.count AS base, s.last_active_at AS at, s.summary_seq,
                s.content_version, s.window_size, s.ttl_s, s.version - w.items AS version
        ), placed AS MATERIALIZED (
            SELECT w.*, n.base + w.before AS first, n.at, n.summary_seq, n.content_version, n.window_size, n.ttl_s,
                n.version + w.nth AS version
            FROM wanted w JOIN numbered n ON n.usr = w.usr AND n.session = w.session
        ), written AS (
            INSERT INTO messages (
                tenant, usr, id, session_id, seq, role, body_sealed, constraints_sealed, created_at, stored_at,
                context_id
            )
            SELECT p.tenant, p.usr, m.id, p.session, p.first + m.ordinal, m.role, m.body, m.bound,
                coalesce(m.created, p.at), p.at, m.context
            FROM message m JOIN placed p ON p.place = m.item
        ), indexed AS (
            INSERT INTO segment_items (tenant, usr, id, kind, embedded, body_sealed, ordinal, time_ms)
            SELECT p.tenant, p.usr, m.id, 'message', false, m.index_body, p.first + m.ordinal,
                floor(extract(epoch FROM coalesce(m.created, p.at)) * 1000)::bigint
            FROM message m JOIN placed p ON p.place = m.item
            WHERE m.index_body IS NOT NULL
        ), audited AS (
            INSERT INTO audit_log (tenant, usr, actor, agent, action, kind, item, outcome, request_id, address)
            SELECT p.tenant, p.usr, p.actor, p.agent, 'append', 'session', p.session, 'done', p.request, p.address
            FROM placed p
        ), kept AS (
            INSERT INTO idempotency AS k (
                tenant, usr, agent, route, key_tag, request_tag, expires_at, first_seq, message_ids, message_times
            )
            SELECT p.tenant, p.usr, coalesce(p.agent, ''), p.route, p.key, p.digest,
                clock_timestamp() + make_interval(secs => keep_s), p.first, p.ids,
                ARRAY(
                    SELECT coalesce(t.created, p.at) FROM unnest(p.created) WITH ORDINALITY AS t (created, nth)
                    ORDER BY t.nth
                )
            FROM placed p WHERE p.key IS NOT NULL
            ORDER BY p.usr, p.agent, p.route, p.key
            ON CONFLICT (usr, agent, route, key_tag) DO UPDATE SET
                request_tag = excluded.request_tag, expires_at = excluded.expires_at, answer_sealed = NULL,
                item_ids = NULL, first_seq = excluded.first_seq, message_ids = excluded.message_ids,
                message_times = excluded.message_times
            WHERE k.expires_at < clock_timestamp()
            RETURNING 1
        )
        SELECT i.place, i.tenant, i.usr, i.session, p.count, p.first, p.at, p.summary_seq, p.content_version,
            p.window_size, p.ttl_s, p.version, k.request_tag, k.answer_sealed, k.first_seq, k.message_ids,
            k.message_times,
            (SELECT count(*) FROM kept) AS keys_kept,
            (SELECT count(p.key) FROM placed p) AS keys_sent
        FROM unnest(item_tenant, item_usr, item_agent, item_session, item_route, item_key)
            WITH ORDINALITY AS i (tenant, usr, agent, session, route, key, place)
        LEFT JOIN placed p ON p.place = i.place
        LEFT JOIN idempotency k
            ON fates[i.place] = 'kept' AND k.usr = i.usr AND k.agent = coalesce(i.agent, '')
            AND k.route = i.route AND k.key_tag = i.key AND k.usr = ANY (item_usr) AND k.key_tag = ANY (item_key)
        ORDER BY i.place
    LOOP
        IF done.keys_kept < done.keys_sent THEN
            -- Another request took the key between the look and the write: repeated, this one meets its answer.
            RAISE serialization_failure USING MESSAGE = 'a key was taken meanwhile';
        END IF;
        IF (done.first + done.count - 1) / (later ->> 'slack')::bigint <> (done.first - 1) / (later ->> 'slack')::bigint
            AND done.first + done.count - 1 - done.summary_seq > done.window_size + (later ->> 'slack')::bigint
        THEN
            PERFORM set_config('app.user_id', done.usr::text, true);
            PERFORM enqueue(
                later ->> 'summary',
                jsonb_build_object('session', done.session, 'tenant', done.tenant, 'usr', done.usr),
                0, later ->> 'summary_lane', done.session::text, 0
            );
        END IF;
        item := done.place;
        fate := fates[done.place];
        first_seq := done.first;
        stored_at := done.at;
        summary_seq := done.summary_seq;
        content_version := done.content_version;
        window_size := done.window_size;
        ttl_s := done.ttl_s;
        version := done.version;
        kept_digest := done.request_tag;
        kept_answer := done.answer_sealed;
        kept_first := done.first_seq;
        kept_ids := done.message_ids;
        kept_times := done.message_times;
        RETURN NEXT;
    END LOOP;
    PERFORM set_config('app.batch', '', true);
END
$$
"""
