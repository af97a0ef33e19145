"""What every feature stands on: the users' rows, the audit, the kept answers, the sealed index, the queue.

Procrastinate's schema is taken from the installed version (3.10, pinned); a later version's changes come as a
migration.
"""

import sqlalchemy as sa
from alembic import op
from procrastinate.schema import SchemaManager

from app.infra.db.policies import APP_ROLE, FUNCTION_ROLE, LOG_ROLE, QUEUE_ROLE, protect

revision = "0001_house"
down_revision = None
branch_labels = None
depends_on = None

OWNER_COLUMNS = "tenant text NOT NULL, usr uuid NOT NULL"


def upgrade() -> None:
    """Make the tables, the rights and the functions."""
    _make_tables()
    _make_index()
    for table in ("users", "idempotency", "segments", "segment_items"):
        protect(op, table)
    protect(op, "audit_log", "SELECT, INSERT")
    op.execute(f"GRANT SELECT ON alembic_version TO {APP_ROLE}")
    op.execute(f"GRANT SELECT, INSERT ON installation TO {APP_ROLE}")
    op.execute(f"CREATE POLICY log ON audit_log FOR INSERT TO {LOG_ROLE} WITH CHECK (true)")
    op.execute(f"GRANT INSERT ON audit_log TO {LOG_ROLE}")
    _make_queue()


def downgrade() -> None:
    """Drop all of it."""
    op.execute("DROP FUNCTION enqueue")
    op.execute("DROP SCHEMA queue CASCADE")
    op.execute("CREATE SCHEMA queue")
    op.execute("DROP TABLE segment_items, segments, audit_log, idempotency, installation, users")


def _make_tables() -> None:
    op.execute(f"""
        CREATE TABLE users (
            {OWNER_COLUMNS},
            state text NOT NULL DEFAULT 'active',
            change_number bigint NOT NULL DEFAULT 0,
            created_at timestamptz NOT NULL DEFAULT now(),
            erased_at timestamptz,
            CONSTRAINT pk_users PRIMARY KEY (usr),
            CONSTRAINT ck_users_state CHECK (state in ('active', 'erasing', 'erased'))
        );
        CREATE TABLE installation (
            singleton boolean NOT NULL DEFAULT true,
            key_store bytea NOT NULL,
            CONSTRAINT pk_installation PRIMARY KEY (singleton),
            CONSTRAINT ck_installation_singleton CHECK (singleton)
        );
        CREATE TABLE idempotency (
            {OWNER_COLUMNS},
            agent text NOT NULL,
            route text NOT NULL,
            key_tag bytea NOT NULL,
            request_tag bytea NOT NULL,
            answer_sealed bytea,
            item_ids uuid[],
            expires_at timestamptz NOT NULL,
            CONSTRAINT pk_idempotency PRIMARY KEY (usr, agent, route, key_tag)
        );
        CREATE TABLE audit_log (
            {OWNER_COLUMNS},
            id bigint GENERATED ALWAYS AS IDENTITY,
            at timestamptz NOT NULL DEFAULT clock_timestamp(),
            xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
            actor text NOT NULL,
            agent text,
            action text NOT NULL,
            kind text NOT NULL,
            item uuid,
            outcome text NOT NULL,
            request_id text NOT NULL,
            address text NOT NULL,
            CONSTRAINT pk_audit_log PRIMARY KEY (id)
        );
        CREATE INDEX ix_audit_log_usr_id ON audit_log (usr, id);
    """)


def _make_index() -> None:
    op.execute(f"""
        CREATE TABLE segments (
            {OWNER_COLUMNS},
            id uuid NOT NULL,
            kind text NOT NULL,
            item_ids uuid[] NOT NULL,
            body_sealed bytea NOT NULL,
            CONSTRAINT pk_segments PRIMARY KEY (usr, id)
        );
        CREATE TABLE segment_items (
            {OWNER_COLUMNS},
            id uuid NOT NULL,
            kind text NOT NULL,
            revision integer NOT NULL DEFAULT 0,
            embedded boolean NOT NULL,
            body_sealed bytea NOT NULL,
            CONSTRAINT pk_segment_items PRIMARY KEY (usr, kind, id)
        );
        CREATE INDEX ix_segment_items_waiting ON segment_items (usr, kind) WHERE not embedded;
    """)


def _make_queue() -> None:
    connection = op.get_bind()
    op.execute("CREATE SCHEMA IF NOT EXISTS queue")
    op.execute("SET LOCAL search_path = queue")
    # Without parameters the driver would still look for placeholders in the functions' bodies.
    connection.exec_driver_sql(SchemaManager.get_schema().replace("%", "%%"))
    op.execute("SET LOCAL search_path = public")
    for role in (QUEUE_ROLE, FUNCTION_ROLE):
        op.execute(f"GRANT USAGE ON SCHEMA queue TO {role}")
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA queue TO {role}")
        op.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA queue TO {role}")
    connection.execute(sa.text(ENQUEUE))
    # The function's owner is neither the tables' owner nor anybody who can log in.
    op.execute(f"GRANT CREATE ON SCHEMA public TO {FUNCTION_ROLE}")
    op.execute(f"ALTER FUNCTION enqueue OWNER TO {FUNCTION_ROLE}")
    op.execute(f"REVOKE CREATE ON SCHEMA public FROM {FUNCTION_ROLE}")
    # A function's rights are its owner's to give.
    op.execute(f"SET LOCAL ROLE {FUNCTION_ROLE}")
    op.execute("REVOKE ALL ON FUNCTION enqueue FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION enqueue TO {APP_ROLE}")
    op.execute("RESET ROLE")


# A job that is owed once: one that waits already is held by a row lock until this transaction ends, so that it can't
# start
# before what it is owed for is committed; one that has started is too late, and a new one is written.
ENQUEUE = """
CREATE FUNCTION enqueue(name text, args jsonb, priority integer, lane text, once text, delay_s integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = queue, pg_temp AS $$
DECLARE
    owner text := nullif(current_setting('app.user_id', true), '');
    single text;
    waiting bigint;
BEGIN
    IF owner IS NULL OR args ->> 'usr' IS DISTINCT FROM owner THEN
        RAISE insufficient_privilege USING MESSAGE = 'a job belongs to the bound user';
    END IF;
    single := name || '/' || owner || '/' || once;
    LOOP
        IF single IS NOT NULL THEN
            SELECT id INTO waiting FROM procrastinate_jobs
                WHERE queueing_lock = single AND status = 'todo' FOR KEY SHARE;
            IF FOUND THEN
                PERFORM pg_notify(
                    'procrastinate_queue_v1#' || lane,
                    json_build_object('type', 'job_inserted', 'job_id', waiting)::text
                );
                RETURN;
            END IF;
        END IF;
        BEGIN
            INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args, scheduled_at)
                VALUES (
                    lane,
                    name,
                    priority,
                    CASE WHEN delay_s > 0 THEN 'later:' || gen_random_uuid() ELSE lane || ':' || owner END,
                    single,
                    args,
                    CASE WHEN delay_s > 0 THEN now() + make_interval(secs => delay_s) END
                );
            RETURN;
        EXCEPTION WHEN unique_violation THEN
            CONTINUE;
        END;
    END LOOP;
END
$$
"""
