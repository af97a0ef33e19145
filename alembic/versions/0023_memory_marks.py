"""What changes of user memory have marked, in the memory log: ids and versions."""

from alembic import op

from app.infra.db.policies import protect

revision = "0023_memory_marks"
down_revision = "0022_audit_chain"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table. Code that doesn't know it publishes no events, and notes nothing."""
    op.execute("""
        CREATE TABLE memory_marks (
            tenant text NOT NULL,
            usr uuid NOT NULL,
            change_number bigint NOT NULL,
            item text NOT NULL,
            newer_kind text NOT NULL,
            newer_id text NOT NULL,
            newer_version integer NOT NULL,
            noted_at timestamptz NOT NULL DEFAULT now(),
            CONSTRAINT pk_memory_marks PRIMARY KEY (usr, change_number, item, newer_kind, newer_id)
        )
    """)
    protect(op, "memory_marks")


def downgrade() -> None:
    """Drop the table."""
    op.execute("DROP TABLE memory_marks")
