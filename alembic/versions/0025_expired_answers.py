"""Whose answers to retries are past their time: an index to find them by, and a function that shows whose they are."""

from alembic import op

from app.infra.db.policies import APP_ROLE, FUNCTION_ROLE

revision = "0025_expired_answers"
down_revision = "0024_usage"
branch_labels = None
depends_on = None

FUNCTION = "expired_answers(integer)"
IN_FUNCTION = "current_setting('app.expired_answers', true) = 'on'"


def upgrade() -> None:
    """Make both. Code that doesn't know them keeps what is past its time."""
    op.execute("CREATE INDEX ix_idempotency_expires_at ON idempotency (expires_at)")
    op.execute(f"CREATE POLICY expired ON idempotency FOR SELECT TO {FUNCTION_ROLE} USING ({IN_FUNCTION})")
    op.execute(EXPIRED)
    op.execute(f"GRANT CREATE ON SCHEMA public TO {FUNCTION_ROLE}")
    op.execute(f"ALTER FUNCTION {FUNCTION} OWNER TO {FUNCTION_ROLE}")
    op.execute(f"REVOKE CREATE ON SCHEMA public FROM {FUNCTION_ROLE}")
    # A function's rights are its owner's to give.
    op.execute(f"SET LOCAL ROLE {FUNCTION_ROLE}")
    op.execute(f"REVOKE ALL ON FUNCTION {FUNCTION} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {FUNCTION} TO {APP_ROLE}")
    op.execute("RESET ROLE")


def downgrade() -> None:
    """Drop them."""
    op.execute(f"DROP FUNCTION {FUNCTION}")
    op.execute("DROP POLICY expired ON idempotency")
    op.execute("DROP INDEX ix_idempotency_expires_at")


# Whose the oldest of them are: references alone, each once.
EXPIRED = """
CREATE FUNCTION expired_answers(most integer) RETURNS TABLE (tenant text, usr uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('app.expired_answers', 'on', true);
    RETURN QUERY
    SELECT DISTINCT oldest.tenant, oldest.usr FROM (
        SELECT i.tenant, i.usr FROM idempotency i WHERE i.expires_at < now() ORDER BY i.expires_at LIMIT most
    ) oldest;
    PERFORM set_config('app.expired_answers', '', true);
END
$$
"""
