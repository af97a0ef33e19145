"""Builds every object once; the only module that knows every concrete class."""

from sqlalchemy import MetaData

from app.infra.audit import tables as _audit
from app.infra.db import tables as _db
from app.infra.db.base import metadata as _metadata
from app.infra.segments import tables as _segments

DECLARATIONS = (_audit, _db, _segments)


def metadata() -> MetaData:
    """Return the declarations of every table."""
    return _metadata
