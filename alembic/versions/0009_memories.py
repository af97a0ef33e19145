"""The tables of facts without a key, with all of their versions."""

from alembic import op

from app.infra.db.policies import protect

revision = "0009_memories"
down_revision = "0008_changes"
branch_labels = None
depends_on = None

OWNER_COLUMNS = "tenant text NOT NULL, usr uuid NOT NULL"

VERSION_COLUMNS = """
    version integer NOT NULL,
    change_number bigint NOT NULL,
    state text NOT NULL,
    text_sealed bytea,
    metadata_sealed bytea,
    trust text NOT NULL,
    source text NOT NULL,
    confidence double precision,
    evidence_kind text,
    evidence_id uuid,
    expires_at timestamptz,
    written_by text NOT NULL,
    written_through text NOT NULL,
    written_at timestamptz NOT NULL
"""


def checks(table: str) -> str:
    """Return what must hold for each version of a table."""
    return f"""
        CONSTRAINT ck_{table}_trust CHECK (trust in ('explicit', 'operator', 'imported', 'inferred')),
        CONSTRAINT ck_{table}_evidence CHECK ((evidence_kind is null) = (evidence_id is null)),
        CONSTRAINT ck_{table}_text CHECK ((state = 'kept') = (text_sealed is not null))
    """


def upgrade() -> None:
    """Make the tables. Code that doesn't know them leaves them alone."""
    op.execute(f"""
        CREATE TABLE memories (
            {OWNER_COLUMNS},
            id uuid NOT NULL,
            indexed_as uuid NOT NULL,
            created_at timestamptz NOT NULL,
            {VERSION_COLUMNS},
            CONSTRAINT pk_memories PRIMARY KEY (usr, id),
            CONSTRAINT ck_memories_state CHECK (state in ('kept', 'deleted')),
            {checks("memories")}
        );
        CREATE UNIQUE INDEX ix_memories_usr_indexed_as ON memories (usr, indexed_as);
        CREATE TABLE memory_versions (
            {OWNER_COLUMNS},
            memory_id uuid NOT NULL,
            {VERSION_COLUMNS},
            CONSTRAINT pk_memory_versions PRIMARY KEY (usr, memory_id, version),
            CONSTRAINT fk_memory_versions_usr_memory_id FOREIGN KEY (usr, memory_id) REFERENCES memories (usr, id),
            CONSTRAINT ck_memory_versions_state CHECK (state in ('kept', 'erased', 'deleted')),
            {checks("memory_versions")}
        );
    """)
    for table in ("memories", "memory_versions"):
        protect(op, table)


def downgrade() -> None:
    """Drop the tables, and what the index holds of facts."""
    for table in ("segments", "segment_items"):
        # Row-level security is forced on the owner too, who has no policy: nothing would be deleted.
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
        op.execute(f"DELETE FROM {table} WHERE kind = 'memory'")  # noqa: S608 - names from above
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute("DROP TABLE memory_versions, memories")
