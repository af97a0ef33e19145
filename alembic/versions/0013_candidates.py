"""What was inferred and waits for the user, and what spoke for it."""

from alembic import op

from app.infra.db.policies import protect

revision = "0013_candidates"
down_revision = "0012_group_commit"
branch_labels = None
depends_on = None

OWNER_COLUMNS = "tenant text NOT NULL, usr uuid NOT NULL"


def upgrade() -> None:
    """Make the tables. Code that doesn't know them leaves them empty."""
    op.execute(f"""
        CREATE TABLE preference_candidates (
            {OWNER_COLUMNS},
            id uuid NOT NULL,
            key_tag bytea NOT NULL,
            key_sealed bytea NOT NULL,
            agent text NOT NULL,
            value_tag bytea NOT NULL,
            value_sealed bytea,
            reason_sealed bytea,
            state text NOT NULL,
            version integer NOT NULL,
            because text NOT NULL,
            confidence double precision NOT NULL,
            evidence jsonb NOT NULL,
            proposed_through text NOT NULL,
            created_at timestamptz NOT NULL,
            updated_at timestamptz NOT NULL,
            CONSTRAINT pk_preference_candidates PRIMARY KEY (usr, id),
            CONSTRAINT ck_preference_candidates_state
                CHECK (state in ('waiting', 'accepted', 'rejected', 'applied', 'withdrawn')),
            CONSTRAINT ck_preference_candidates_value CHECK ((state = 'waiting') = (value_sealed is not null))
        );
        CREATE UNIQUE INDEX ix_preference_candidates_waiting
            ON preference_candidates (usr, key_tag, agent, value_tag) WHERE state = 'waiting';
        CREATE TABLE preference_evidence (
            {OWNER_COLUMNS},
            key_tag bytea NOT NULL,
            agent text NOT NULL,
            value_tag bytea NOT NULL,
            evidence_tag bytea NOT NULL,
            refused boolean NOT NULL,
            CONSTRAINT pk_preference_evidence PRIMARY KEY (usr, key_tag, agent, value_tag, evidence_tag)
        );
    """)
    for table in ("preference_candidates", "preference_evidence"):
        protect(op, table)


def downgrade() -> None:
    """Drop the tables."""
    op.execute("DROP TABLE preference_evidence, preference_candidates")
