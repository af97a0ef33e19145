"""Registered secrets: salted, keyed hashes of values that are compared and never stored."""

from alembic import op

from app.infra.db.policies import protect

revision = "0017_verifications"
down_revision = "0016_superseding"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table. Code that doesn't know it compares nothing."""
    op.execute("""
        CREATE TABLE registered_secrets (
            tenant text NOT NULL,
            usr uuid NOT NULL,
            type text NOT NULL,
            salt bytea,
            hash bytea,
            reason_sealed bytea NOT NULL,
            changed_at timestamptz NOT NULL,
            CONSTRAINT pk_registered_secrets PRIMARY KEY (usr, type),
            CONSTRAINT ck_registered_secrets_hash CHECK ((salt IS NULL) = (hash IS NULL))
        )
    """)
    protect(op, "registered_secrets")


def downgrade() -> None:
    """Drop the table."""
    op.execute("DROP TABLE registered_secrets")
