"""What the record's end needs: notes of claims that outlive their sessions, and who has messages that are old."""

from alembic import op

from app.infra.db.policies import APP_ROLE, FUNCTION_ROLE, protect

revision = "0011_record"
down_revision = "0010_profile"
branch_labels = None
depends_on = None

FUNCTION = "sessions_by_age(timestamptz, uuid, uuid, integer)"
# What the function's role may look at, while that function runs.
SEEN = {
    "sessions": "tenant, usr, id, pinned, message_count, created_at, last_active_at, expires_at",
    "messages": "usr, session_id, seq, stored_at",
}
IN_FUNCTION = "current_setting('app.by_age', true) = 'on'"


def upgrade() -> None:
    """Make the table and the function. Code that doesn't know them notes no claims, and keeps messages."""
    op.execute("""
        CREATE TABLE session_claims (
            tenant text NOT NULL,
            usr uuid NOT NULL,
            session_id uuid NOT NULL,
            claimed_at timestamptz NOT NULL,
            CONSTRAINT pk_session_claims PRIMARY KEY (usr, session_id)
        )
    """)
    protect(op, "session_claims")
    for table, columns in SEEN.items():
        op.execute(f"CREATE POLICY by_age ON {table} FOR SELECT TO {FUNCTION_ROLE} USING ({IN_FUNCTION})")
        op.execute(f"GRANT SELECT ({columns}) ON {table} TO {FUNCTION_ROLE}")
    op.execute(BY_AGE)
    op.execute(f"GRANT CREATE ON SCHEMA public TO {FUNCTION_ROLE}")
    op.execute(f"ALTER FUNCTION {FUNCTION} OWNER TO {FUNCTION_ROLE}")
    op.execute(f"REVOKE CREATE ON SCHEMA public FROM {FUNCTION_ROLE}")
    # A function's rights are its owner's to give.
    op.execute(f"SET LOCAL ROLE {FUNCTION_ROLE}")
    op.execute(f"REVOKE ALL ON FUNCTION {FUNCTION} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {FUNCTION} TO {APP_ROLE}")
    op.execute("RESET ROLE")


def downgrade() -> None:
    """Drop them. Rights stay where another revision may have given them too: without a policy they show nothing."""
    op.execute(f"DROP FUNCTION {FUNCTION}")
    for table in SEEN:
        op.execute(f"DROP POLICY by_age ON {table}")
    op.execute("DROP TABLE session_claims")


# Page by page over all users: the sessions that were made before `older_than`, and whether something of them is to go.
# Numbers of a session rise with the times that its messages were stored at, so that the first of them is the oldest.
BY_AGE = """
CREATE FUNCTION sessions_by_age(older_than timestamptz, past_usr uuid, past_id uuid, most integer)
RETURNS TABLE (tenant text, usr uuid, id uuid, is_due boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('app.by_age', 'on', true);
    RETURN QUERY
    SELECT s.tenant, s.usr, s.id, NOT s.pinned AND CASE
        WHEN s.message_count = 0 THEN s.last_active_at < older_than AND s.expires_at < now()
        ELSE (
            SELECT m.stored_at < older_than FROM messages m
            WHERE m.usr = s.usr AND m.session_id = s.id ORDER BY m.seq LIMIT 1
        )
    END
    FROM sessions s
    WHERE (s.usr, s.id) > (past_usr, past_id) AND s.created_at < older_than
    ORDER BY s.usr, s.id LIMIT most;
    PERFORM set_config('app.by_age', '', true);
END
$$
"""
