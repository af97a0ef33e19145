"""The memory log: how a context was asked for, by which models, what it showed, and what came of it."""

from alembic import op

from app.infra.db.policies import protect

revision = "0021_reasons"
down_revision = "0020_recipients"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add them. Code of before writes lines without, which are read as such."""
    op.execute("""
        ALTER TABLE memory_log
            ADD COLUMN call jsonb,
            ADD COLUMN revisions jsonb,
            ADD COLUMN shown_sealed bytea,
            ADD COLUMN query_tag bytea,
            ADD COLUMN is_cut boolean NOT NULL DEFAULT false;
        CREATE TABLE context_feedback (
            tenant text NOT NULL,
            usr uuid NOT NULL,
            context_id uuid NOT NULL,
            version integer NOT NULL,
            useful boolean NOT NULL,
            items jsonb NOT NULL,
            correction_sealed bytea,
            agent text NOT NULL,
            created_at timestamptz NOT NULL,
            changed_at timestamptz NOT NULL,
            CONSTRAINT pk_context_feedback PRIMARY KEY (usr, context_id),
            CONSTRAINT fk_context_feedback_usr_context_id FOREIGN KEY (usr, context_id)
                REFERENCES memory_log (usr, id) ON DELETE CASCADE
        );
        CREATE INDEX ix_messages_usr_context_id ON messages (usr, context_id) WHERE context_id IS NOT NULL;
    """)
    protect(op, "context_feedback")


def downgrade() -> None:
    """Take them out."""
    op.execute("""
        DROP INDEX ix_messages_usr_context_id;
        DROP TABLE context_feedback;
        ALTER TABLE memory_log
            DROP COLUMN is_cut,
            DROP COLUMN query_tag,
            DROP COLUMN shown_sealed,
            DROP COLUMN revisions,
            DROP COLUMN call;
    """)
