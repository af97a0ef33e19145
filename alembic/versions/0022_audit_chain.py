"""The audit is sealed in batches: where they are kept, who may see a tenant's trail, and whose rows are due."""

from alembic import op

from app.infra.db.policies import APP_ROLE, FUNCTION_ROLE

revision = "0022_audit_chain"
down_revision = "0021_reasons"
branch_labels = None
depends_on = None

FUNCTION = "audited_tenants(text, integer, boolean)"
# What the function's role may look at, while that function runs.
SEEN = {"audit_log": "tenant, id, xid", "audit_batches": "tenant, number, past_id, to_xid, last_id"}
IN_FUNCTION = "(SELECT current_setting('app.audited_tenants', true)) = 'on'"
TENANT = "tenant = nullif(current_setting('app.tenant', true), '')"
# The reference of nobody: whoever looks at a whole tenant's trail is bound to it.
NOBODY = "nullif(current_setting('app.user_id', true), '') = '00000000-0000-0000-0000-000000000000'"


def upgrade() -> None:
    """Add the columns, which code that doesn't know them leaves empty, the table and the function."""
    op.execute("ALTER TABLE audit_log ADD COLUMN operator uuid, ADD COLUMN reason_sealed bytea")
    op.execute("CREATE INDEX ix_audit_log_tenant_xid_id ON audit_log (tenant, xid, id)")
    op.execute(f"CREATE POLICY trail ON audit_log FOR SELECT TO {APP_ROLE} USING ({TENANT} and {NOBODY})")
    op.execute("""
        CREATE TABLE audit_batches (
            tenant text NOT NULL,
            number bigint NOT NULL,
            previous bytea NOT NULL,
            past_id bigint NOT NULL,
            from_xid xid8 NOT NULL,
            to_xid xid8 NOT NULL,
            last_id bigint NOT NULL,
            row_count integer NOT NULL,
            rows_digest bytea NOT NULL,
            sealed_at timestamptz NOT NULL,
            key_id text NOT NULL,
            signature text NOT NULL,
            CONSTRAINT pk_audit_batches PRIMARY KEY (tenant, number)
        );
        CREATE INDEX ix_audit_batches_tenant_past_id_to_xid ON audit_batches (tenant, past_id, to_xid);
        ALTER TABLE audit_batches ENABLE ROW LEVEL SECURITY;
        ALTER TABLE audit_batches FORCE ROW LEVEL SECURITY;
    """)
    op.execute(f"CREATE POLICY of_tenant ON audit_batches FOR SELECT TO {APP_ROLE} USING ({TENANT})")
    op.execute(f"CREATE POLICY sealed ON audit_batches FOR INSERT TO {APP_ROLE} WITH CHECK ({TENANT} and {NOBODY})")
    # Neither changed nor deleted, as the rows that they seal.
    op.execute(f"GRANT SELECT, INSERT ON audit_batches TO {APP_ROLE}")
    for table, columns in SEEN.items():
        op.execute(f"CREATE POLICY audited_tenants ON {table} FOR SELECT TO {FUNCTION_ROLE} USING ({IN_FUNCTION})")
        op.execute(f"GRANT SELECT ({columns}) ON {table} TO {FUNCTION_ROLE}")
    op.execute(AUDITED_TENANTS)
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
    op.execute("DROP POLICY audited_tenants ON audit_log")
    op.execute("DROP TABLE audit_batches")
    op.execute("DROP POLICY trail ON audit_log")
    op.execute("DROP INDEX ix_audit_log_tenant_xid_id")
    op.execute("ALTER TABLE audit_log DROP COLUMN operator, DROP COLUMN reason_sealed")


# Names of tenants alone, page by page: all that have an audit, or those of whose rows some are due to be sealed. The
# tenants are found by going from one to the next in the index, for there may be millions of rows of each.
AUDITED_TENANTS = """
CREATE FUNCTION audited_tenants(past text, most integer, due boolean)
RETURNS TABLE (tenant text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    ended xid8 := pg_snapshot_xmin(pg_current_snapshot());
    newest xid8 := pg_snapshot_xmax(pg_current_snapshot());
BEGIN
    PERFORM set_config('app.audited_tenants', 'on', true);
    RETURN QUERY
    WITH RECURSIVE found (tenant) AS (
        SELECT least(
            (SELECT l.tenant FROM audit_log l WHERE l.tenant > past ORDER BY l.tenant LIMIT 1),
            (SELECT b.tenant FROM audit_batches b WHERE b.tenant > past ORDER BY b.tenant LIMIT 1)
        )
        UNION ALL
        SELECT least(
            (SELECT l.tenant FROM audit_log l WHERE l.tenant > f.tenant ORDER BY l.tenant LIMIT 1),
            (SELECT b.tenant FROM audit_batches b WHERE b.tenant > f.tenant ORDER BY b.tenant LIMIT 1)
        )
        FROM found f WHERE f.tenant IS NOT NULL
    )
    SELECT f.tenant FROM found f
    LEFT JOIN LATERAL (
        SELECT b.past_id, b.to_xid, b.last_id FROM audit_batches b
        WHERE b.tenant = f.tenant ORDER BY b.number DESC LIMIT 1
    ) AS last ON true
    WHERE f.tenant IS NOT NULL AND (
        NOT due
        OR EXISTS (
            SELECT FROM audit_log l
            WHERE l.tenant = f.tenant AND l.xid >= coalesce(last.to_xid, '0') AND l.xid < ended
                AND (last.past_id IS NULL OR l.id > last.past_id)
        )
        -- A server that was restored from a dump counts from lower numbers.
        OR newest < last.to_xid
    )
    LIMIT most;
    PERFORM set_config('app.audited_tenants', '', true);
END
$$
"""
