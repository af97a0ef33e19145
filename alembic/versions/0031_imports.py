"""Imports: what is received of an archive, sealed, how far it was taken, and what became of its records."""

from alembic import op

from app.infra.db.policies import protect

revision = "0031_imports"
down_revision = "0030_processing"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables. Code that doesn't know them takes no archives."""
    op.execute("""
        CREATE TABLE imports (
            tenant text NOT NULL,
            usr uuid NOT NULL,
            id uuid NOT NULL,
            state text NOT NULL,
            source text,
            agent text NOT NULL,
            rights text[] NOT NULL,
            keeps_trust boolean NOT NULL,
            size_bytes bigint NOT NULL,
            file text NOT NULL,
            line bigint NOT NULL,
            counts jsonb NOT NULL,
            problems_sealed bytea,
            omitted integer NOT NULL,
            failure text,
            created_at timestamptz NOT NULL,
            finished_at timestamptz,
            CONSTRAINT pk_imports PRIMARY KEY (usr, id),
            CONSTRAINT ck_imports_state CHECK (state in ('receiving', 'queued', 'running', 'done', 'failed'))
        )
    """)
    op.execute("""
        CREATE TABLE import_parts (
            tenant text NOT NULL,
            usr uuid NOT NULL,
            import_id uuid NOT NULL,
            ordinal integer NOT NULL,
            body_sealed bytea NOT NULL,
            CONSTRAINT pk_import_parts PRIMARY KEY (usr, import_id, ordinal),
            CONSTRAINT fk_import_parts_usr_import_id FOREIGN KEY (usr, import_id)
                REFERENCES imports (usr, id) ON DELETE CASCADE
        )
    """)
    for table in ("imports", "import_parts"):
        protect(op, table)


def downgrade() -> None:
    """Drop them. What was taken stays; what waits to be taken goes."""
    op.execute("DROP TABLE import_parts")
    op.execute("DROP TABLE imports")
