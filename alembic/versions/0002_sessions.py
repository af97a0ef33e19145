"""The tables of sessions."""

from alembic import op  # noqa: F401

revision = "0002_sessions"
down_revision = "0001_house"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables."""


def downgrade() -> None:
    """Drop the tables."""
