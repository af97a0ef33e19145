"""The catalogue of preferences: what a tenant says of keys, and whether others are refused."""

from alembic import op

from app.infra.db.policies import protect_tenant

revision = "0015_catalogue"
down_revision = "0014_generation"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables. Code that doesn't know them asks no catalogue."""
    op.execute("""
        CREATE TABLE catalogue_keys (
            tenant text NOT NULL,
            id uuid NOT NULL,
            key text NOT NULL,
            version integer NOT NULL,
            deleted boolean NOT NULL,
            schema jsonb,
            enumeration jsonb,
            merge text,
            commitment boolean,
            sensitive boolean,
            description text,
            names jsonb,
            updated_at timestamptz NOT NULL,
            CONSTRAINT pk_catalogue_keys PRIMARY KEY (tenant, key),
            CONSTRAINT ck_catalogue_keys_deleted CHECK (deleted = (schema is null)),
            CONSTRAINT ck_catalogue_keys_merge CHECK (merge in ('refuse', 'last_write')),
            CONSTRAINT ck_catalogue_keys_commitment CHECK (not (commitment and merge = 'last_write'))
        );
        CREATE TABLE catalogue_settings (
            tenant text NOT NULL,
            version integer NOT NULL,
            closed boolean NOT NULL,
            CONSTRAINT pk_catalogue_settings PRIMARY KEY (tenant)
        );
    """)
    for table in ("catalogue_keys", "catalogue_settings"):
        protect_tenant(op, table)


def downgrade() -> None:
    """Drop the tables."""
    op.execute("DROP TABLE catalogue_settings, catalogue_keys")
