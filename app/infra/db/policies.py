"""What migrations do to every table that holds a user's data. Its meaning never changes: old migrations call it too."""

from typing import Protocol

APP_ROLE = "cairn_app"
LOG_ROLE = "cairn_log"
QUEUE_ROLE = "cairn_queue"
FUNCTION_ROLE = "cairn_commit"

# After a commit a transaction-local setting is '' and not NULL.
_OWNER = (
    "usr = nullif(current_setting('app.user_id', true), '')::uuid"
    " and tenant = nullif(current_setting('app.tenant', true), '')"
)


class Executes(Protocol):
    """What migrations hand over: alembic's operations."""

    def execute(self, sqltext: str) -> None:
        """Execute a statement."""
        ...


_TENANT = "tenant = nullif(current_setting('app.tenant', true), '')"
# The reference that an operator's door binds: what is a tenant's is changed for no user, and read for any of its users.
_NOBODY = "nullif(current_setting('app.user_id', true), '') = '00000000-0000-0000-0000-000000000000'"


def protect_tenant(op: Executes, table: str) -> None:
    """Force row-level security on a table that holds a tenant's data: its users read it, its operators write it."""
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY of_tenant ON {table} FOR SELECT TO {APP_ROLE} USING ({_TENANT})")
    written = f"{_TENANT} and {_NOBODY}"
    op.execute(f"CREATE POLICY of_operators ON {table} TO {APP_ROLE} USING ({written}) WITH CHECK ({written})")
    op.execute(f"GRANT SELECT, INSERT, UPDATE ON {table} TO {APP_ROLE}")


def protect(op: Executes, table: str, rights: str = "SELECT, INSERT, UPDATE, DELETE") -> None:
    """Force row-level security on a table and let the app role see and write the rows of the bound user alone."""
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY owner ON {table} TO {APP_ROLE} USING ({_OWNER}) WITH CHECK ({_OWNER})")
    op.execute(f"GRANT {rights} ON {table} TO {APP_ROLE}")
