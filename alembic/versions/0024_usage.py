"""What each kind of memory cost and how often it was marked useful, per user, agent and day."""

from alembic import op

from app.infra.db.policies import APP_ROLE, FUNCTION_ROLE, protect

revision = "0024_usage"
down_revision = "0023_memory_marks"
branch_labels = None
depends_on = None

FUNCTION = "tenant_usage(date, date)"
COUNTED = ("calls", "hits", "tokens", "took_us", "missed", "useful", "useless")
IN_FUNCTION = "current_setting('app.tenant_usage', true) = 'on' AND tenant = current_setting('app.tenant', true)"


def upgrade() -> None:
    """Make the table, and the function that sums it up. Code that doesn't know them counts nothing."""
    op.execute("""
        CREATE TABLE usage (
            tenant text NOT NULL,
            usr uuid NOT NULL,
            day date NOT NULL,
            agent text NOT NULL,
            kind text NOT NULL,
            calls integer NOT NULL,
            hits integer NOT NULL,
            tokens bigint NOT NULL,
            took_us bigint NOT NULL,
            missed integer NOT NULL,
            useful integer NOT NULL,
            useless integer NOT NULL,
            CONSTRAINT pk_usage PRIMARY KEY (usr, day, agent, kind)
        );
        CREATE INDEX ix_usage_tenant_day ON usage (tenant, day);
    """)
    protect(op, "usage")
    op.execute(f"CREATE POLICY tenant_usage ON usage FOR SELECT TO {FUNCTION_ROLE} USING ({IN_FUNCTION})")
    op.execute(f"GRANT SELECT ON usage TO {FUNCTION_ROLE}")
    op.execute(TENANT_USAGE)
    op.execute(f"GRANT CREATE ON SCHEMA public TO {FUNCTION_ROLE}")
    op.execute(f"ALTER FUNCTION {FUNCTION} OWNER TO {FUNCTION_ROLE}")
    op.execute(f"REVOKE CREATE ON SCHEMA public FROM {FUNCTION_ROLE}")
    # A function's rights are its owner's to give.
    op.execute(f"SET LOCAL ROLE {FUNCTION_ROLE}")
    op.execute(f"REVOKE ALL ON FUNCTION {FUNCTION} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {FUNCTION} TO {APP_ROLE}")
    op.execute("RESET ROLE")


def downgrade() -> None:
    """Drop both."""
    op.execute(f"DROP FUNCTION {FUNCTION}")
    op.execute("DROP TABLE usage")


# Sums over all users of the bound tenant, and only where an operator's door is open, which binds nobody.
TENANT_USAGE = f"""
CREATE FUNCTION tenant_usage(first_day date, last_day date)
RETURNS TABLE (kind text, users bigint, {", ".join(f"{name} bigint" for name in COUNTED)})
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    IF coalesce(current_setting('app.user_id', true), '') <> '00000000-0000-0000-0000-000000000000' THEN
        RAISE EXCEPTION 'not an operator' USING ERRCODE = 'insufficient_privilege';
    END IF;
    PERFORM set_config('app.tenant_usage', 'on', true);
    RETURN QUERY
    SELECT u.kind, count(DISTINCT u.usr), {", ".join(f"sum(u.{name})::bigint" for name in COUNTED)}
    FROM usage u
    WHERE (first_day IS NULL OR u.day >= first_day) AND (last_day IS NULL OR u.day <= last_day)
    GROUP BY u.kind ORDER BY u.kind;
    PERFORM set_config('app.tenant_usage', '', true);
END
$$
"""  # noqa: S608 - names from above
