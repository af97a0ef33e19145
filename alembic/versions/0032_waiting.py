"""What was inferred of a user's profile and facts and waits for the user, and what spoke for it."""

from alembic import op

from app.infra.db.policies import protect

revision = "0032_waiting"
down_revision = "0031_imports"
branch_labels = None
depends_on = None

OWNER_COLUMNS = "tenant text NOT NULL, usr uuid NOT NULL"


def upgrade() -> None:
    """Make the tables. Code that doesn't know them leaves them empty."""
    op.execute(f"""
        CREATE TABLE candidates (
            {OWNER_COLUMNS},
            id uuid NOT NULL,
            waits text NOT NULL,
            key_tag bytea NOT NULL,
            key_sealed bytea,
            statement_tag bytea NOT NULL,
            value_sealed bytea,
            state text NOT NULL,
            version integer NOT NULL,
            confidence double precision NOT NULL,
            evidence jsonb NOT NULL,
            proposed_through text NOT NULL,
            created_at timestamptz NOT NULL,
            updated_at timestamptz NOT NULL,
            CONSTRAINT pk_candidates PRIMARY KEY (usr, id),
            CONSTRAINT ck_candidates_waits CHECK (waits in ('profile', 'memory')),
            CONSTRAINT ck_candidates_state
                CHECK (state in ('waiting', 'accepted', 'rejected', 'applied', 'withdrawn')),
            CONSTRAINT ck_candidates_value CHECK ((state = 'waiting') = (value_sealed is not null))
        );
        CREATE UNIQUE INDEX ix_candidates_waiting ON candidates (usr, statement_tag) WHERE state = 'waiting';
        CREATE TABLE candidate_evidence (
            {OWNER_COLUMNS},
            statement_tag bytea NOT NULL,
            evidence_tag bytea NOT NULL,
            refused boolean NOT NULL,
            CONSTRAINT pk_candidate_evidence PRIMARY KEY (usr, statement_tag, evidence_tag)
        )
    """)
    for table in ("candidates", "candidate_evidence"):
        protect(op, table)


def downgrade() -> None:
    """Drop the tables. What was accepted stays."""
    op.execute("DROP TABLE candidate_evidence; DROP TABLE candidates")
