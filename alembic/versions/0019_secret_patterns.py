"""The forms of numbers that a tenant never stores, and the number of their last change, which processes ask for."""

from alembic import op

from app.infra.db.policies import APP_ROLE, FUNCTION_ROLE, protect_tenant

revision = "0019_secret_patterns"
down_revision = "0018_index_owners"
branch_labels = None
depends_on = None

SAFE = "SET search_path = public, pg_temp"
FUNCTIONS = ("secret_patterns_number()", "note_secret_pattern_change()")


def upgrade() -> None:
    """Make the tables. Code that doesn't know them masks what every tenant's is."""
    op.execute("""
        CREATE TABLE secret_patterns (
            tenant text NOT NULL,
            id uuid NOT NULL,
            name text NOT NULL,
            version integer NOT NULL,
            deleted boolean NOT NULL,
            expression text,
            check_digit text,
            description text,
            updated_at timestamptz NOT NULL,
            CONSTRAINT pk_secret_patterns PRIMARY KEY (tenant, name),
            CONSTRAINT ck_secret_patterns_deleted CHECK (deleted = (expression is null)),
            CONSTRAINT ck_secret_patterns_check_digit CHECK (check_digit in ('luhn', 'iso7064_mod11_2', 'none'))
        );
        CREATE TABLE secret_pattern_changes (
            singleton boolean NOT NULL DEFAULT true,
            number integer NOT NULL,
            CONSTRAINT pk_secret_pattern_changes PRIMARY KEY (singleton),
            CONSTRAINT ck_secret_pattern_changes_singleton CHECK (singleton)
        );
        INSERT INTO secret_pattern_changes (number) VALUES (0);
    """)
    protect_tenant(op, "secret_patterns")
    op.execute(f"""
        CREATE FUNCTION secret_patterns_number() RETURNS integer LANGUAGE sql VOLATILE SECURITY DEFINER {SAFE} AS $$
            SELECT number FROM secret_pattern_changes
        $$;
        CREATE FUNCTION note_secret_pattern_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER {SAFE} AS $$
        BEGIN
            UPDATE secret_pattern_changes SET number = number + 1;
            RETURN NULL;
        END
        $$;
        CREATE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE ON secret_patterns
            FOR EACH STATEMENT EXECUTE FUNCTION note_secret_pattern_change();
    """)  # noqa: S608 - made of this file's own words
    op.execute(f"GRANT SELECT, UPDATE ON secret_pattern_changes TO {FUNCTION_ROLE}")
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


def downgrade() -> None:
    """Drop them."""
    op.execute("DROP TABLE secret_patterns")
    for function in FUNCTIONS:
        op.execute(f"DROP FUNCTION {function}")
    op.execute("DROP TABLE secret_pattern_changes")
