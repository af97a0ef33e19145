"""The tables of context."""

from alembic import op  # noqa: F401

revision = "0005_context"
down_revision = "0004_knowledge"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""


def downgrade() -> None:
    """Drop the tables."""
