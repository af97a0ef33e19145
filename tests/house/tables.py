"""The rules that the tables of a migrated database can be held against."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

# One row for each table that has a column `usr`, wherever it is, and each policy that binds the app role to it.
TABLES = """
    SELECT c.oid::regclass::text AS name, c.relrowsecurity AS enabled, c.relforcerowsecurity AS forced,
           coalesce(array_agg(concat_ws(' ', p.qual, p.with_check)) FILTER (WHERE p.policyname IS NOT NULL), '{}')
               AS conditions
    FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'usr' AND NOT a.attisdropped
    LEFT JOIN pg_policies p ON p.schemaname = c.relnamespace::regnamespace::text AND p.tablename = c.relname
        AND p.permissive = 'PERMISSIVE' AND p.roles && '{public, cairn_app}'
    WHERE c.relkind IN ('r', 'p', 'f', 'm')
    GROUP BY c.oid ORDER BY 1
"""


@dataclass(frozen=True)
class OwnedTable:
    """A table with a column `usr`. `conditions` are those of each permissive policy for the app role."""

    name: str
    enabled: bool
    forced: bool
    conditions: tuple[str, ...]


def unprotected(tables: Iterable[OwnedTable]) -> Iterator[str]:
    for table in tables:
        if not (table.enabled and table.forced):
            yield f"{table.name}: row-level security isn't enabled and forced"
        if not table.conditions:
            yield f"{table.name}: no policy for the app role"
        for condition in table.conditions:
            if not ("app.user_id" in condition and "app.tenant" in condition):
                yield f"{table.name}: a policy asks for less than the user and the tenant: {condition or 'nothing'}"


def not_claimed_once(tables: Iterable[OwnedTable], claims: Iterable[str]) -> Iterator[str]:
    claimed = Counter(claims)
    names = {table.name for table in tables}
    for name in sorted(names | claimed.keys()):
        if name not in names:
            yield f"{name}: claimed, and holds no user's data"
        elif claimed[name] != 1:
            yield f"{name}: claimed by {claimed[name]} kinds of user data"
