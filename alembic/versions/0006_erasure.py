"""The tables of erasure, and what it needs of the queue."""

from alembic import op

from app.infra.db.policies import APP_ROLE, FUNCTION_ROLE, protect

revision = "0006_erasure"
down_revision = "0005_context"
branch_labels = None
depends_on = None

FUNCTIONS = ("count_jobs()", "discard_jobs()", "living(uuid[])")


def upgrade() -> None:
    """Make the table and the functions on the bound user's jobs."""
    op.execute("""
        CREATE TABLE erasures (
            tenant text NOT NULL,
            usr uuid NOT NULL,
            id uuid NOT NULL,
            requested_by text NOT NULL,
            agent text,
            requested_at timestamptz NOT NULL DEFAULT now(),
            stop boolean NOT NULL,
            lease_until timestamptz,
            before jsonb,
            certificate jsonb,
            finished_at timestamptz,
            CONSTRAINT pk_erasures PRIMARY KEY (usr, id),
            CONSTRAINT uq_erasures_usr UNIQUE (usr)
        )
    """)
    # No DELETE: the proof of an erasure outlives the user.
    protect(op, "erasures", "SELECT, INSERT, UPDATE")
    # From priority 100 on (app.core.jobs) they are the erasure's own.
    op.execute("""
        CREATE FUNCTION count_jobs() RETURNS bigint
        LANGUAGE sql SECURITY DEFINER SET search_path = queue, pg_temp AS $$
            SELECT count(*) FROM procrastinate_jobs
            WHERE priority < 100 AND status <> 'doing'
                AND args ->> 'usr' = nullif(current_setting('app.user_id', true), '')
        $$
    """)
    op.execute("""
        CREATE FUNCTION discard_jobs() RETURNS void
        LANGUAGE sql SECURITY DEFINER SET search_path = queue, pg_temp AS $$
            DELETE FROM procrastinate_jobs
            WHERE priority < 100 AND status <> 'doing'
                AND args ->> 'usr' = nullif(current_setting('app.user_id', true), '')
        $$
    """)
    # Which of these references are alive here: for the register of erasures, after a backup was restored.
    op.execute("""
        CREATE FUNCTION living(refs uuid[]) RETURNS TABLE (tenant text, usr uuid)
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
            SELECT u.tenant, u.usr FROM users u WHERE u.usr = ANY (refs) AND u.state = 'active'
        $$
    """)
    op.execute(f"CREATE POLICY living ON users FOR SELECT TO {FUNCTION_ROLE} USING (true)")
    op.execute(f"GRANT SELECT ON users TO {FUNCTION_ROLE}")
    op.execute("CREATE INDEX ix_procrastinate_jobs_usr ON queue.procrastinate_jobs ((args ->> 'usr'))")
    op.execute(f"GRANT CREATE ON SCHEMA public TO {FUNCTION_ROLE}")
    for function in FUNCTIONS:
        op.execute(f"ALTER FUNCTION {function} OWNER TO {FUNCTION_ROLE}")
    op.execute(f"REVOKE CREATE ON SCHEMA public FROM {FUNCTION_ROLE}")
    # A role's rights on functions are the owner's to give, and the owner is now the functions' role.
    op.execute(f"SET LOCAL ROLE {FUNCTION_ROLE}")
    for function in FUNCTIONS:
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO {APP_ROLE}")
    op.execute("RESET ROLE")


def downgrade() -> None:
    """Drop them."""
    op.execute("DROP INDEX queue.ix_procrastinate_jobs_usr")
    op.execute(f"REVOKE SELECT ON users FROM {FUNCTION_ROLE}")  # noqa: S608 - a name of this file's imports
    op.execute("DROP POLICY living ON users")
    op.execute("DROP FUNCTION living(uuid[])")
    op.execute("DROP FUNCTION discard_jobs()")
    op.execute("DROP FUNCTION count_jobs()")
    op.execute("DROP TABLE erasures")
