"""The tables of user memory: profiles and preferences, each with all of its versions."""

from alembic import op

from app.infra.db.policies import protect

revision = "0003_user_memory"
down_revision = "0002_sessions"
branch_labels = None
depends_on = None

OWNER_COLUMNS = "tenant text NOT NULL, usr uuid NOT NULL"

PROFILE_COLUMNS = """
    version integer NOT NULL,
    change_number bigint NOT NULL,
    name_sealed bytea,
    role_sealed bytea,
    department_sealed bytea,
    attributes_sealed bytea NOT NULL,
    active boolean NOT NULL,
    last_login_at timestamptz,
    written_by text NOT NULL,
    written_through text NOT NULL,
    updated_at timestamptz NOT NULL
"""

PREFERENCE_COLUMNS = """
    version integer NOT NULL,
    change_number bigint NOT NULL,
    state text NOT NULL,
    value_sealed bytea,
    value_plain jsonb,
    trust text NOT NULL,
    source text NOT NULL,
    confidence double precision,
    evidence_kind text,
    evidence_id uuid,
    reason_sealed bytea,
    written_by text NOT NULL,
    written_through text NOT NULL,
    written_at timestamptz NOT NULL
"""


def upgrade() -> None:
    """Make the tables."""
    op.execute(f"""
        CREATE TABLE profiles (
            {OWNER_COLUMNS},
            {PROFILE_COLUMNS},
            CONSTRAINT pk_profiles PRIMARY KEY (usr)
        );
        CREATE TABLE profile_versions (
            {OWNER_COLUMNS},
            {PROFILE_COLUMNS},
            CONSTRAINT pk_profile_versions PRIMARY KEY (usr, version),
            CONSTRAINT fk_profile_versions_usr FOREIGN KEY (usr) REFERENCES profiles (usr)
        );
        CREATE TABLE preferences (
            {OWNER_COLUMNS},
            id uuid NOT NULL,
            key_tag bytea NOT NULL,
            key_sealed bytea NOT NULL,
            key_plain text,
            agent text NOT NULL DEFAULT '',
            created_at timestamptz NOT NULL,
            {PREFERENCE_COLUMNS},
            CONSTRAINT pk_preferences PRIMARY KEY (usr, id),
            CONSTRAINT uq_preferences_usr_key_tag_agent UNIQUE (usr, key_tag, agent),
            CONSTRAINT ck_preferences_state CHECK (state in ('kept', 'deleted')),
            CONSTRAINT ck_preferences_trust CHECK (trust in ('explicit', 'operator', 'imported', 'inferred')),
            CONSTRAINT ck_preferences_evidence CHECK ((evidence_kind is null) = (evidence_id is null))
        );
        CREATE TABLE preference_versions (
            {OWNER_COLUMNS},
            preference_id uuid NOT NULL,
            {PREFERENCE_COLUMNS},
            CONSTRAINT pk_preference_versions PRIMARY KEY (usr, preference_id, version),
            CONSTRAINT fk_preference_versions_usr_preference_id FOREIGN KEY (usr, preference_id)
                REFERENCES preferences (usr, id),
            CONSTRAINT ck_preference_versions_state CHECK (state in ('kept', 'erased', 'deleted')),
            CONSTRAINT ck_preference_versions_trust CHECK (trust in ('explicit', 'operator', 'imported', 'inferred')),
            CONSTRAINT ck_preference_versions_evidence CHECK ((evidence_kind is null) = (evidence_id is null))
        );
        CREATE INDEX ix_preference_versions_usr_change_number ON preference_versions (usr, change_number);
    """)
    for table in ("profiles", "profile_versions", "preferences", "preference_versions"):
        protect(op, table)


def downgrade() -> None:
    """Drop the tables."""
    op.execute("DROP TABLE preference_versions, preferences, profile_versions, profiles")
