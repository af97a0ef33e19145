"""Equal chunks of a user share one text and one vector; the size of a version in chunks stands beside it."""

from alembic import op

from app.infra.db.policies import FUNCTION_ROLE, protect

revision = "0028_chunk_texts"
down_revision = "0027_writer"
branch_labels = None
depends_on = None

SEEN = ("documents", "chunks", "chunk_texts")
OWN = ("text_sealed", "model", "vector_sealed")
# Triggers, so that nobody can leave a text behind: neither code of before that runs beside this one, nor a cascade.
# The texts are locked first, and in one order: who writes a chunk holds its text until the chunk is there to be seen by
# the second statement, which has a snapshot of its own. Where no chunk of the user's is left (an erasure) all go at
# once; that needs the user's turn (`quota_store.take_turn`), for it is where nobody writes any.
# A role of its own runs it: a cascade runs as the owner of the tables, who is shown nothing. A foreign key would say
# the same once more, and make the erasure of 200,000 chunks ten seconds longer.
FUNCTION = "drop_unused_chunk_texts()"
# What the function's role may do, while that function runs.
GRANTED = {"chunks": "SELECT (usr, text_tag)", "chunk_texts": "SELECT (usr, content_tag), UPDATE (model), DELETE"}
IN_FUNCTION = "current_setting('app.chunk_texts', true) = 'on'"
UNUSED = """
    CREATE FUNCTION drop_unused_chunk_texts() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE
        owner uuid := (SELECT usr FROM gone WHERE text_tag IS NOT NULL LIMIT 1);
        is_alone boolean;
    BEGIN
        IF owner IS NULL THEN
            RETURN NULL;
        END IF;
        PERFORM set_config('app.chunk_texts', 'on', true);
        is_alone := pg_try_advisory_xact_lock(hashtextextended('knowledge ' || owner, 0))
            AND NOT EXISTS (SELECT FROM gone WHERE usr <> owner);
        IF is_alone AND NOT EXISTS (SELECT FROM chunks c WHERE c.usr = owner) THEN
            DELETE FROM chunk_texts t WHERE t.usr = owner;
            PERFORM set_config('app.chunk_texts', '', true);
            RETURN NULL;
        END IF;
        PERFORM FROM chunk_texts t
            WHERE (t.usr, t.content_tag) IN (SELECT g.usr, g.text_tag FROM gone g WHERE g.text_tag IS NOT NULL)
            ORDER BY t.usr, t.content_tag FOR UPDATE;
        DELETE FROM chunk_texts t
            WHERE (t.usr, t.content_tag) IN (SELECT g.usr, g.text_tag FROM gone g WHERE g.text_tag IS NOT NULL)
            AND NOT EXISTS (SELECT FROM chunks c WHERE c.usr = t.usr AND c.text_tag = t.content_tag);
        PERFORM set_config('app.chunk_texts', '', true);
        RETURN NULL;
    END
    $$
"""


def upgrade() -> None:
    """Make the table, and let chunks lean on it. Those of before keep texts of their own, until they are replaced.

    Code of before can't read a chunk that leans on one; workers alone write such. So its API processes end before a
    worker of this revision begins. What it deletes is deleted whole.
    """
    op.execute("""
        CREATE TABLE chunk_texts (
            tenant text NOT NULL,
            usr uuid NOT NULL,
            content_tag bytea NOT NULL,
            text_sealed bytea NOT NULL,
            model text NOT NULL,
            vector_sealed bytea NOT NULL,
            CONSTRAINT pk_chunk_texts PRIMARY KEY (usr, content_tag)
        )
    """)
    protect(op, "chunk_texts")
    op.execute("ALTER TABLE chunks ADD COLUMN text_tag bytea")
    for column in OWN:
        op.execute(f"ALTER TABLE chunks ALTER COLUMN {column} DROP NOT NULL")
    op.execute("""
        ALTER TABLE chunks
            ADD CONSTRAINT ck_chunks_text CHECK (text_tag is not null or text_sealed is not null)
    """)
    op.execute("CREATE INDEX ix_chunks_usr_text_tag ON chunks (usr, text_tag)")
    _make_trigger()


def _make_trigger() -> None:
    op.execute(UNUSED)
    for table, rights in GRANTED.items():
        op.execute(f"CREATE POLICY unused_texts ON {table} TO {FUNCTION_ROLE} USING ({IN_FUNCTION})")
        op.execute(f"GRANT {rights} ON {table} TO {FUNCTION_ROLE}")
    op.execute(f"GRANT CREATE ON SCHEMA public TO {FUNCTION_ROLE}")
    op.execute(f"ALTER FUNCTION {FUNCTION} OWNER TO {FUNCTION_ROLE}")
    op.execute(f"REVOKE CREATE ON SCHEMA public FROM {FUNCTION_ROLE}")
    for event in ("DELETE", "UPDATE"):
        op.execute(f"""
            CREATE TRIGGER drop_unused_texts_after_{event.lower()} AFTER {event} ON chunks
            REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION drop_unused_chunk_texts()
        """)


def downgrade() -> None:
    """Drop them. Refused where passages that are searched lean on a text: `cairn index unshare` gives each its own
    again, for their users' keys are needed. What was still being ingested is begun anew.
    """
    for table in SEEN:
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
    op.execute("""
        DELETE FROM chunks c USING documents d
            WHERE d.usr = c.usr AND d.id = c.document_id AND c.text_tag IS NOT NULL
            AND c.version IS DISTINCT FROM d.indexed_version
    """)
    op.execute("""
        DO $$ BEGIN
            IF EXISTS (SELECT FROM chunk_texts) THEN
                RAISE EXCEPTION 'passages share texts: end the workers and run `cairn index unshare` first';
            END IF;
        END $$
    """)
    for table in SEEN:
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    for event in ("delete", "update"):
        op.execute(f"DROP TRIGGER drop_unused_texts_after_{event} ON chunks")
    op.execute(f"DROP FUNCTION {FUNCTION}")
    op.execute("DROP POLICY unused_texts ON chunks")
    op.execute("ALTER TABLE chunks DROP CONSTRAINT ck_chunks_text")
    op.execute("ALTER TABLE chunks DROP COLUMN text_tag")
    for column in OWN:
        op.execute(f"ALTER TABLE chunks ALTER COLUMN {column} SET NOT NULL")
    op.execute("DROP TABLE chunk_texts")
