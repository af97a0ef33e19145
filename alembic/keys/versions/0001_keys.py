"""The tables of the key store."""

from alembic import op

revision = "0001_keys"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables. Nothing here names a person: a tag can't be turned back without the key in `secrets`."""
    op.execute("""
        CREATE TABLE secrets (name text PRIMARY KEY, value bytea NOT NULL, master_id text NOT NULL);
        CREATE TABLE subjects (
            subject_tag bytea PRIMARY KEY,
            usr uuid NOT NULL UNIQUE,
            registered boolean NOT NULL DEFAULT false,
            issued_before timestamptz,
            created_at timestamptz NOT NULL DEFAULT now()
        );
        CREATE TABLE data_keys (
            usr uuid NOT NULL REFERENCES subjects (usr) ON DELETE CASCADE,
            version integer NOT NULL,
            value bytea NOT NULL,
            master_id text NOT NULL,
            created_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (usr, version)
        );
        CREATE TABLE index_secrets (
            usr uuid PRIMARY KEY REFERENCES subjects (usr) ON DELETE CASCADE,
            value bytea NOT NULL,
            master_id text NOT NULL
        );
        CREATE TABLE erasures (
            usr uuid PRIMARY KEY,
            subject_tag bytea,
            erased_at timestamptz NOT NULL DEFAULT now(),
            tag_until timestamptz,
            stop boolean NOT NULL DEFAULT false
        );
        CREATE INDEX ix_erasures_subject_tag ON erasures (subject_tag) WHERE subject_tag IS NOT NULL;
        CREATE TABLE revocations (token_tag bytea PRIMARY KEY, until timestamptz NOT NULL);
    """)


def downgrade() -> None:
    """Drop the tables: every user's data becomes unreadable."""
    op.execute("DROP TABLE revocations, erasures, index_secrets, data_keys, subjects, secrets")
