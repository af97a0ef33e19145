"""The tables of erasure."""

from alembic import op  # noqa: F401

revision = "0006_erasure"
down_revision = "0005_context"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""


def downgrade() -> None:
    """Drop the tables."""
