"""Messages that state something of their author: what is owed of them, and what became of it."""

from alembic import op

from app.infra.db.policies import protect

revision = "0027_writer"
down_revision = "0026_models"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table. Code that doesn't know it writes nothing of what messages state."""
    op.execute("""
        CREATE TABLE heard_messages (
            tenant text NOT NULL,
            usr uuid NOT NULL,
            message_id uuid NOT NULL,
            rights text[] NOT NULL,
            heard_at timestamptz NOT NULL,
            fates text[],
            CONSTRAINT pk_heard_messages PRIMARY KEY (usr, message_id)
        )
    """)
    protect(op, "heard_messages")


def downgrade() -> None:
    """Drop the table. What was written stays."""
    op.execute("DROP TABLE heard_messages")
