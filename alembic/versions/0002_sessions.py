"""The tables of sessions and their messages."""

from alembic import op

from app.infra.db.policies import protect

revision = "0002_sessions"
down_revision = "0001_house"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""
    # Every append updates its session's row: room on the page keeps those updates off the indexes.
    op.execute("""
        CREATE TABLE sessions (
            tenant text NOT NULL,
            usr uuid NOT NULL,
            id uuid NOT NULL,
            agent text NOT NULL,
            external_tag bytea,
            external_id_sealed bytea,
            title_sealed bytea,
            metadata_sealed bytea,
            summary_sealed bytea,
            window_size integer NOT NULL,
            ttl_s integer NOT NULL,
            next_seq bigint NOT NULL DEFAULT 1,
            message_count bigint NOT NULL DEFAULT 0,
            summary_seq bigint NOT NULL DEFAULT 0,
            content_version bigint NOT NULL DEFAULT 1,
            version bigint NOT NULL DEFAULT 1,
            created_at timestamptz NOT NULL,
            last_active_at timestamptz NOT NULL,
            expires_at timestamptz NOT NULL,
            CONSTRAINT pk_sessions PRIMARY KEY (usr, id),
            CONSTRAINT uq_sessions_usr_external_tag UNIQUE (usr, external_tag)
        ) WITH (fillfactor = 70);
        CREATE TABLE messages (
            tenant text NOT NULL,
            usr uuid NOT NULL,
            id uuid NOT NULL,
            session_id uuid NOT NULL,
            seq bigint NOT NULL,
            role text NOT NULL,
            body_sealed bytea NOT NULL,
            constraints_sealed bytea,
            created_at timestamptz NOT NULL,
            stored_at timestamptz NOT NULL,
            context_id uuid,
            CONSTRAINT pk_messages PRIMARY KEY (usr, id),
            CONSTRAINT uq_messages_usr_session_id_seq UNIQUE (usr, session_id, seq),
            CONSTRAINT fk_messages_usr_session_id FOREIGN KEY (usr, session_id)
                REFERENCES sessions (usr, id) ON DELETE CASCADE,
            CONSTRAINT ck_messages_role CHECK (role in ('user', 'assistant', 'system', 'tool'))
        );
    """)
    for table in ("sessions", "messages"):
        protect(op, table)


def downgrade() -> None:
    """Drop the tables."""
    op.execute("DROP TABLE messages, sessions")
