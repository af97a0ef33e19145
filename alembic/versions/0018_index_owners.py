"""Who has something in the vector store, or should have: for looking after it, user by user."""

from alembic import op

from app.infra.db.policies import APP_ROLE, FUNCTION_ROLE

revision = "0018_index_owners"
down_revision = "0017_verifications"
branch_labels = None
depends_on = None

FUNCTION = "index_owners(uuid, integer)"
# What the function's role may look at, while that function runs.
SEEN = {"documents": "tenant, usr, indexed_version", "vector_collections": "tenant, usr"}
IN_FUNCTION = "current_setting('app.index_owners', true) = 'on'"


def upgrade() -> None:
    """Make the function. Code that doesn't know it looks after the vector store when a search meets what is broken."""
    for table, columns in SEEN.items():
        op.execute(f"CREATE POLICY index_owners ON {table} FOR SELECT TO {FUNCTION_ROLE} USING ({IN_FUNCTION})")
        op.execute(f"GRANT SELECT ({columns}) ON {table} TO {FUNCTION_ROLE}")
    op.execute(INDEX_OWNERS)
    op.execute(f"GRANT CREATE ON SCHEMA public TO {FUNCTION_ROLE}")
    op.execute(f"ALTER FUNCTION {FUNCTION} OWNER TO {FUNCTION_ROLE}")
    op.execute(f"REVOKE CREATE ON SCHEMA public FROM {FUNCTION_ROLE}")
    # A function's rights are its owner's to give.
    op.execute(f"SET LOCAL ROLE {FUNCTION_ROLE}")
    op.execute(f"REVOKE ALL ON FUNCTION {FUNCTION} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION {FUNCTION} TO {APP_ROLE}")
    op.execute("RESET ROLE")


def downgrade() -> None:
    """Drop it. Rights stay where another revision may have given them too: without a policy they show nothing."""
    op.execute(f"DROP FUNCTION {FUNCTION}")
    for table in SEEN:
        op.execute(f"DROP POLICY index_owners ON {table}")


# References alone, page by page over all users.
INDEX_OWNERS = """
CREATE FUNCTION index_owners(past uuid, most integer)
RETURNS TABLE (tenant text, usr uuid)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('app.index_owners', 'on', true);
    RETURN QUERY
    SELECT d.tenant, d.usr FROM documents d WHERE d.usr > past AND d.indexed_version IS NOT NULL
    UNION
    SELECT c.tenant, c.usr FROM vector_collections c WHERE c.usr > past
    ORDER BY 2 LIMIT most;
    PERFORM set_config('app.index_owners', '', true);
END
$$
"""
