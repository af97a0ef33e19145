"""Sessions can be pinned."""

from alembic import op

revision = "0007_pins"
down_revision = "0006_erasure"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column. Code that doesn't know it makes sessions that aren't pinned."""
    op.execute("ALTER TABLE sessions ADD COLUMN pinned boolean NOT NULL DEFAULT false")


def downgrade() -> None:
    """Drop it."""
    op.execute("ALTER TABLE sessions DROP COLUMN pinned")
