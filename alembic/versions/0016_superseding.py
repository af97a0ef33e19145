"""Which versions took a value out of force that texts may hold: what is looked up whenever a text is shown."""

from alembic import op

revision = "0016_superseding"
down_revision = "0015_catalogue"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the marks, and indexes of what isn't marked as harmless.

    Versions of before, and of code of before that still runs, have no mark: they are looked at as if they had it.
    """
    op.execute("""
        ALTER TABLE profile_versions ADD COLUMN supersedes boolean;
        ALTER TABLE preferences ADD COLUMN identifies boolean;
        ALTER TABLE preference_versions ADD COLUMN identifies boolean;
        CREATE INDEX ix_profile_versions_superseding ON profile_versions (usr, change_number)
            WHERE supersedes is not false;
        CREATE INDEX ix_preference_versions_identifying ON preference_versions (usr, change_number)
            WHERE identifies is not false;
    """)


def downgrade() -> None:
    """Drop them."""
    op.execute("""
        DROP INDEX ix_preference_versions_identifying;
        DROP INDEX ix_profile_versions_superseding;
        ALTER TABLE preference_versions DROP COLUMN identifies;
        ALTER TABLE preferences DROP COLUMN identifies;
        ALTER TABLE profile_versions DROP COLUMN supersedes;
    """)
