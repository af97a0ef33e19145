"""Which documents a search may look at. What a client said of them is sealed, and opened here where it is asked for."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import and_, select

from app.infra.crypto.box import Box, Place, row_key
from app.infra.db.transaction import Transaction
from app.knowledge.metadata import matches
from app.knowledge.model import Limits
from app.knowledge.store import doc_type_tag
from app.knowledge.tables import document_versions, documents

_SEARCHED_VERSION = and_(
    document_versions.c.usr == documents.c.usr,
    document_versions.c.document_id == documents.c.id,
    document_versions.c.version == documents.c.indexed_version,
)


async def matching(tx: Transaction, limits: Limits) -> Collection[UUID]:
    """Return the searched documents that are within the limits."""
    columns = [documents.c.id, document_versions.c.version]
    if limits.metadata:
        columns.append(document_versions.c.metadata_sealed)
    asked = (
        select(*columns)
        .join_from(documents, document_versions, _SEARCHED_VERSION)
        .where(documents.c.usr == tx.scope.usr)
    )
    if limits.doc_types is not None:
        tags = [doc_type_tag(tx.box, doc_type) for doc_type in limits.doc_types]
        asked = asked.where(document_versions.c.doc_type_tag.in_(tags))
    if limits.document_ids is not None:
        asked = asked.where(documents.c.id.in_(limits.document_ids))
    if limits.after is not None:
        asked = asked.where(document_versions.c.created_at >= limits.after)
    if limits.before is not None:
        asked = asked.where(document_versions.c.created_at < limits.before)
    rows = await tx.rows(asked)
    if not limits.metadata:
        return {row.id for row in rows}
    sealed = {row_key(row.id, row.version): (row.id, row.metadata_sealed) for row in rows}
    return await asyncio.to_thread(_opened, tx.box, sealed, limits.metadata)


def _opened(
    box: Box,
    sealed: Mapping[bytes, tuple[UUID, bytes]],
    wanted: Mapping[str, Any],  # Any: JSON
) -> Collection[UUID]:
    """Open what was said of each document: keyed tags would be faster, and tell which documents are alike."""
    return {
        document_id
        for key, (document_id, body) in sealed.items()
        if matches(box.open_json(body, Place("document_versions", "metadata_sealed", key)), wanted)
    }
