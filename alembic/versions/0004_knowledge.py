"""The tables of knowledge."""

from alembic import op  # noqa: F401

revision = "0004_knowledge"
down_revision = "0003_user_memory"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""


def downgrade() -> None:
    """Drop the tables."""
