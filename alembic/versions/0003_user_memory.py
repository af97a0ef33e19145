"""The tables of user_memory."""

from alembic import op  # noqa: F401

revision = "0003_user_memory"
down_revision = "0002_sessions"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""


def downgrade() -> None:
    """Drop the tables."""
