"""Which models have made the vectors of each row of the index, and who has rows that another model should make anew."""

from alembic import op

from app.infra.db.policies import APP_ROLE, FUNCTION_ROLE

revision = "0026_models"
down_revision = "0025_expired_answers"
branch_labels = None
depends_on = None

FUNCTIONS = ("index_of_other_models(text[], uuid, integer)", "index_by_model(text[])")
# What the functions' role may look at, while one of them runs.
SEEN = {
    "segments": "tenant, usr, kind, item_ids, models",
    "segment_items": "tenant, usr, kind, embedded, models",
}
IN_FUNCTION = "current_setting('app.index_models', true) = 'on'"


def upgrade() -> None:
    """Make columns and functions. Rows of before have NULL: a worker looks into them.

    Code that doesn't know the columns leaves them alone, and what it writes is looked at as well.
    """
    op.execute("ALTER TABLE segments ADD COLUMN models text[]")
    op.execute("ALTER TABLE segment_items ADD COLUMN models text[]")
    op.execute("ALTER TABLE segment_items ALTER COLUMN models SET DEFAULT '{}'")
    for table, columns in SEEN.items():
        op.execute(f"CREATE POLICY index_models ON {table} FOR SELECT TO {FUNCTION_ROLE} USING ({IN_FUNCTION})")
        op.execute(f"GRANT SELECT ({columns}) ON {table} TO {FUNCTION_ROLE}")
    op.execute(OTHER_MODELS)
    op.execute(BY_MODEL)
    op.execute(f"GRANT CREATE ON SCHEMA public TO {FUNCTION_ROLE}")
    for function in FUNCTIONS:
        op.execute(f"ALTER FUNCTION {function} OWNER TO {FUNCTION_ROLE}")
    op.execute(f"REVOKE CREATE ON SCHEMA public FROM {FUNCTION_ROLE}")
    # A function's rights are its owner's to give.
    op.execute(f"SET LOCAL ROLE {FUNCTION_ROLE}")
    for function in FUNCTIONS:
        op.execute(f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION {function} TO {APP_ROLE}")
    op.execute("RESET ROLE")


def downgrade() -> None:
    """Drop them. Vectors of another model stay in rows that older code can't read: end a change of models before."""
    for function in FUNCTIONS:
        op.execute(f"DROP FUNCTION {function}")
    for table in SEEN:
        op.execute(f"DROP POLICY index_models ON {table}")
        op.execute(f"ALTER TABLE {table} DROP COLUMN models")


# References alone, page by page over all users: whose rows lack the first of the models, or have one that isn't among
# them, or were never looked at.
OTHER_MODELS = """
CREATE FUNCTION index_of_other_models(wanted text[], past uuid, most integer)
RETURNS TABLE (tenant text, usr uuid, kinds text[])
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('app.index_models', 'on', true);
    RETURN QUERY
    SELECT r.tenant, r.usr, array_agg(DISTINCT r.kind) FROM (
        SELECT s.tenant, s.usr, s.kind, s.models FROM segments s WHERE s.usr > past
        UNION ALL
        SELECT i.tenant, i.usr, i.kind, i.models FROM segment_items i WHERE i.usr > past AND i.embedded
    ) r
    WHERE r.models IS NULL OR NOT r.models @> wanted[1:1] OR NOT r.models <@ wanted
    GROUP BY r.tenant, r.usr ORDER BY r.usr LIMIT most;
    PERFORM set_config('app.index_models', '', true);
END
$$
"""
# Counts alone, of all users together. What was never looked into is of before: of the last of the models.
BY_MODEL = """
CREATE FUNCTION index_by_model(wanted text[])
RETURNS TABLE (kind text, model text, items bigint, made bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('app.index_models', 'on', true);
    RETURN QUERY
    SELECT r.kind, w.model, sum(r.items)::bigint,
        coalesce(sum(r.items) FILTER (WHERE w.model = ANY (r.models)), 0)::bigint
    FROM (
        SELECT s.kind, coalesce(s.models, wanted[cardinality(wanted):]) AS models, cardinality(s.item_ids) AS items
        FROM segments s
        UNION ALL
        SELECT i.kind, coalesce(i.models, wanted[cardinality(wanted):]), 1 FROM segment_items i WHERE i.embedded
    ) r CROSS JOIN unnest(wanted) AS w (model)
    GROUP BY r.kind, w.model ORDER BY r.kind, w.model;
    PERFORM set_config('app.index_models', '', true);
END
$$
"""
