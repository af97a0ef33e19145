"""The table of messages that state something: ids and outcomes, and nothing that was said."""

from sqlalchemy import ARRAY, Column, DateTime, PrimaryKeyConstraint, Text, Uuid

from app.infra.db.base import owned

heard_messages = owned(
    "heard_messages",
    Column("message_id", Uuid, nullable=False),
    # What the token that appended it may write.
    Column("rights", ARRAY(Text), nullable=False),
    Column("heard_at", DateTime(timezone=True), nullable=False),
    # What became of each finding; NULL while it is owed.
    Column("fates", ARRAY(Text)),
    PrimaryKeyConstraint("usr", "message_id"),
)
