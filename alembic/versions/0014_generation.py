"""The generation of the hot copies: one row, without a user's data, which says whether Redis is trusted."""

from alembic import op

from app.infra.db.policies import APP_ROLE, FUNCTION_ROLE

revision = "0014_generation"
down_revision = "0013_candidates"
branch_labels = None
depends_on = None

FUNCTIONS = (
    "generation_place()",
    "read_generation()",
    "close_generation(uuid)",
    "open_generation(uuid, text[])",
    "settle_generation(uuid)",
)
ANSWER = "TABLE (name uuid, servers text[], is_settled boolean, is_here boolean, age_s double precision)"
SAFE = "SET search_path = public, pg_temp"
# The transaction that writes the row, as the row's own xmin shows it: a row that was restored differs.
WRITER = "(pg_current_xact_id()::text::numeric % 4294967296)::bigint"
WRITTEN = f"written_on = generation_place(), written_by = {WRITER}"
MOVED = f"name = gen_random_uuid(), is_settled = false, changed_at = clock_timestamp(), {WRITTEN}"


def upgrade() -> None:
    """Make the row and the functions, the only way to it. Code that doesn't know it goes on without."""
    op.execute("""
        CREATE TABLE generation (
            singleton boolean NOT NULL DEFAULT true,
            name uuid NOT NULL,
            servers text[] NOT NULL,
            is_settled boolean NOT NULL,
            changed_at timestamptz NOT NULL,
            written_on text NOT NULL,
            written_by bigint NOT NULL,
            CONSTRAINT pk_generation PRIMARY KEY (singleton),
            CONSTRAINT ck_generation_singleton CHECK (singleton)
        )
    """)
    # Which server this is, since when it runs, which history it writes, which database. A standby raises an error.
    op.execute(f"""
        CREATE FUNCTION generation_place() RETURNS text LANGUAGE sql VOLATILE SECURITY DEFINER {SAFE} AS $$
            SELECT concat_ws(' ',
                extract(epoch FROM pg_postmaster_start_time()),
                left(pg_walfile_name(pg_current_wal_lsn()), 8),
                (SELECT oid FROM pg_database WHERE datname = current_database()))
        $$
    """)  # noqa: S608 - made of this file's own words
    op.execute(f"""
        CREATE FUNCTION read_generation() RETURNS {ANSWER} LANGUAGE sql VOLATILE SECURITY DEFINER {SAFE} AS $$
            SELECT g.name, g.servers, g.is_settled,
                g.written_on = generation_place() AND g.xmin::text::bigint = g.written_by,
                extract(epoch FROM clock_timestamp() - g.changed_at)::double precision
            FROM generation g
        $$
    """)  # noqa: S608 - made of this file's own words
    # Closing: where Redis is trusted, or where nobody knows who trusts it since the row was written elsewhere.
    _make("close_generation(seen uuid)", f"{MOVED}, servers = '{{}}'", "servers <> '{}' OR NOT is_here")
    _make(
        "open_generation(seen uuid, trusted text[])",
        f"{MOVED}, servers = trusted",
        "servers = '{}' AND is_settled AND is_here",
    )
    _make("settle_generation(seen uuid)", f"is_settled = true, {WRITTEN}", "is_here")
    # Nobody trusts Redis yet, and nobody did.
    op.execute(f"""
        INSERT INTO generation (name, servers, is_settled, changed_at, written_on, written_by)
        VALUES (gen_random_uuid(), '{{}}', true, now() - interval '1 day', generation_place(), {WRITER})
    """)  # noqa: S608 - made of this file's own words
    op.execute(f"GRANT SELECT, UPDATE ON generation TO {FUNCTION_ROLE}")
    op.execute(f"GRANT CREATE ON SCHEMA public TO {FUNCTION_ROLE}")
    for function in FUNCTIONS:
        op.execute(f"ALTER FUNCTION {function} OWNER TO {FUNCTION_ROLE}")
    op.execute(f"REVOKE CREATE ON SCHEMA public FROM {FUNCTION_ROLE}")
    # A function's rights are its owner's to give.
    op.execute(f"SET LOCAL ROLE {FUNCTION_ROLE}")
    for function in FUNCTIONS:
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO {APP_ROLE}")
    op.execute("RESET ROLE")


def _make(signature: str, changes: str, condition: str) -> None:
    """Make a function that changes the row where it is still the one that was seen, and answers it as it is then."""
    op.execute(f"""
        CREATE FUNCTION {signature} RETURNS {ANSWER} LANGUAGE sql VOLATILE SECURITY DEFINER {SAFE} AS $$
            UPDATE generation SET {changes}
            FROM (SELECT is_here FROM read_generation()) AS found
            WHERE generation.name = seen AND ({condition});
            SELECT * FROM read_generation();
        $$
    """)  # noqa: S608 - made of this file's own words


def downgrade() -> None:
    """Drop them."""
    for function in reversed(FUNCTIONS):
        op.execute(f"DROP FUNCTION {function}")
    op.execute("DROP TABLE generation")
