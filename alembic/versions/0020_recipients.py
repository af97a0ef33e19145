"""Who outside of the installation is sent texts of users."""

from alembic import op

from app.infra.db.policies import APP_ROLE

revision = "0020_recipients"
down_revision = "0019_secret_patterns"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table. Code that doesn't know it notes nobody."""
    op.execute("""
        CREATE TABLE recipients (
            purpose text NOT NULL,
            host text NOT NULL,
            model text NOT NULL,
            since timestamptz NOT NULL DEFAULT now(),
            until timestamptz,
            CONSTRAINT pk_recipients PRIMARY KEY (purpose, host, model)
        )
    """)
    op.execute(f"GRANT SELECT, INSERT, UPDATE ON recipients TO {APP_ROLE}")


def downgrade() -> None:
    """Drop the table."""
    op.execute("DROP TABLE recipients")
