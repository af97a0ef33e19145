"""What a version of a profile tells of itself, what was erased from it, and its last open fields sealed."""

from alembic import op

revision = "0010_profile"
down_revision = "0009_memories"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the columns, to the versions alone: code of before writes the profile's own row, and would leave them stale.

    A version without a `source` was written before, and tells `active` and `last_login_at` openly. Code of before that
    still runs doesn't see these two where they were written since.
    """
    op.execute("""
        ALTER TABLE profile_versions
            ADD COLUMN active_sealed bytea,
            ADD COLUMN last_login_at_sealed bytea,
            ADD COLUMN erased_sealed bytea,
            ADD COLUMN source text,
            ADD COLUMN reason_sealed bytea,
            ADD COLUMN evidence_kind text,
            ADD COLUMN evidence_id uuid,
            ADD CONSTRAINT ck_profile_versions_evidence CHECK ((evidence_kind is null) = (evidence_id is null))
    """)


def downgrade() -> None:
    """Drop them. What only they hold is lost: it is sealed, and no migration has the keys."""
    op.execute("""
        ALTER TABLE profile_versions
            DROP COLUMN active_sealed,
            DROP COLUMN last_login_at_sealed,
            DROP COLUMN erased_sealed,
            DROP COLUMN source,
            DROP COLUMN reason_sealed,
            DROP COLUMN evidence_kind,
            DROP COLUMN evidence_id
    """)
