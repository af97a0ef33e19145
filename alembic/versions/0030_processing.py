"""What a user lets be done: whether anything is kept, inferred, shown to models outside. Appends ask it too."""

from alembic import op

from app.infra.db.policies import FUNCTION_ROLE

revision = "0030_processing"
down_revision = "0029_chunk_counts"
branch_labels = None
depends_on = None

# The gate of appends, in the function that revision 0012 made: the rest of it stays as it is.
ASKED = "u.usr = ANY (item_usr) AND u.state = 'active'"
ASKS_MORE = f"{ASKED} AND u.remember"
EXCHANGE = """
DO $do$
DECLARE
    body text := pg_get_functiondef('append_messages'::regproc);
BEGIN
    IF position('{before}' IN body) = 0 THEN
        RAISE EXCEPTION 'append_messages is another one';
    END IF;
    EXECUTE replace(body, '{before}', '{after}');
END
$do$
"""


def upgrade() -> None:
    """Add the columns, which code that doesn't know them leaves as they are, and let appends ask."""
    op.execute("""
        ALTER TABLE users
            ADD COLUMN remember boolean NOT NULL DEFAULT true,
            ADD COLUMN infer boolean NOT NULL DEFAULT true,
            ADD COLUMN external_models boolean NOT NULL DEFAULT true,
            ADD COLUMN processing_version bigint NOT NULL DEFAULT 1
    """)
    _exchange(ASKED, ASKS_MORE)


def downgrade() -> None:
    """Drop them: everybody's choices are lost, and everything is allowed."""
    _exchange(ASKS_MORE, ASKED)
    op.execute("""
        ALTER TABLE users
            DROP COLUMN remember, DROP COLUMN infer, DROP COLUMN external_models, DROP COLUMN processing_version
    """)


def _exchange(before: str, after: str) -> None:
    op.execute(f"GRANT CREATE ON SCHEMA public TO {FUNCTION_ROLE}")
    op.execute(f"SET LOCAL ROLE {FUNCTION_ROLE}")
    op.execute(EXCHANGE.format(before=_quoted(before), after=_quoted(after)))
    op.execute("RESET ROLE")
    op.execute(f"REVOKE CREATE ON SCHEMA public FROM {FUNCTION_ROLE}")


def _quoted(text: str) -> str:
    return text.replace("'", "''")
