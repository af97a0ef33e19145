"""The tables of context: the memory log."""

from alembic import op

from app.infra.db.policies import protect

revision = "0005_context"
down_revision = "0004_knowledge"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table."""
    op.execute("""
        CREATE TABLE memory_log (
            tenant text NOT NULL,
            usr uuid NOT NULL,
            id uuid NOT NULL,
            session_id uuid,
            created_at timestamptz NOT NULL,
            query_sealed bytea NOT NULL,
            prompt_tag bytea NOT NULL,
            snapshot bigint NOT NULL,
            budget_tokens integer NOT NULL,
            tokens integer NOT NULL,
            missing jsonb NOT NULL,
            decisions jsonb NOT NULL,
            CONSTRAINT pk_memory_log PRIMARY KEY (usr, id)
        );
        CREATE INDEX ix_memory_log_usr_session_id_id ON memory_log (usr, session_id, id);
    """)
    protect(op, "memory_log")


def downgrade() -> None:
    """Drop the table."""
    op.execute("DROP TABLE memory_log")
