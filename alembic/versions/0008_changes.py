"""When each change of user memory was made: a moment is mapped to a change number, for all kinds alike."""

from alembic import op

from app.infra.db.policies import protect

revision = "0008_changes"
down_revision = "0007_pins"
branch_labels = None
depends_on = None

# A trigger, so that nothing can number a change without its time: neither code of before that runs beside this one, nor
# a function of the database. It runs while the user's row is locked, so times are in the order of the numbers; and no
# two are equal, so that the time of a change names it. The clock may go back: times creep on until it has caught up.
NUMBERED = """
    CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO public.user_changes (tenant, usr, number, at)
        SELECT NEW.tenant, NEW.usr, NEW.change_number,
            greatest(clock_timestamp(), (
                SELECT made.at + interval '1 microsecond' FROM public.user_changes made
                WHERE made.usr = NEW.usr ORDER BY made.number DESC LIMIT 1
            ));
        RETURN NULL;
    END
    $$;
    CREATE TRIGGER note_change AFTER UPDATE OF change_number ON users FOR EACH ROW
        WHEN (NEW.change_number > OLD.change_number) EXECUTE FUNCTION note_change();
"""

# What was written until now tells its own time. Of writers that overlapped the later number may bear the earlier time.
BEFORE = """
    INSERT INTO user_changes (tenant, usr, number, at)
    SELECT tenant, usr, change_number, max(at) OVER (PARTITION BY usr ORDER BY change_number)
    FROM (
        SELECT tenant, usr, change_number, min(at) AS at FROM (
            SELECT tenant, usr, change_number, written_at AS at FROM preference_versions
            UNION ALL SELECT tenant, usr, change_number, updated_at FROM profile_versions
        ) written GROUP BY tenant, usr, change_number
    ) changes
"""
VERSIONS = ("preference_versions", "profile_versions")


def upgrade() -> None:
    """Make the table, fill it, and have it kept from now on. Code of before runs on as it did."""
    op.execute("""
        CREATE TABLE user_changes (
            tenant text NOT NULL,
            usr uuid NOT NULL,
            number bigint NOT NULL,
            at timestamptz NOT NULL,
            CONSTRAINT pk_user_changes PRIMARY KEY (usr, number)
        )
    """)
    # Nobody changes anything between the rows that are read here and the trigger.
    op.execute("LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE")
    for table in VERSIONS:  # forced row-level security hides all rows from their owner
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
    op.execute(BEFORE)
    for table in VERSIONS:
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute("CREATE INDEX ix_user_changes_usr_at ON user_changes (usr, at)")
    protect(op, "user_changes", "SELECT, INSERT, DELETE")
    op.execute(NUMBERED)


def downgrade() -> None:
    """Drop all of it."""
    op.execute("DROP TRIGGER note_change ON users; DROP FUNCTION note_change; DROP TABLE user_changes")
