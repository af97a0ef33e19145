"""What isn't in an export, and why. Every kind of a user's data is either here or given: tests/house checks it."""

from collections.abc import Mapping
from typing import Final

# By table, and by the name of a kind of data that is in no table.
LEFT_OUT: Final[Mapping[str, str]] = {
    "users": "the user's random reference, which the manifest has, and whether they are being erased",
    "user_changes": "numbers and times of changes: each version has its own time",
    "idempotency": "answers kept for a day to be given again; what they show stands in the other files",
    "jobs": "work that is owed: names and ids",
    "heard_messages": "which messages are still to be read for what they state: ids",
    "session_claims": "which sessions were anonymous once: ids of sessions that are given",
    "preference_evidence": "keyed tags that tell nothing without the user's key: what was said no to",
    "imports": "what became of archives that were imported; what was taken stands in the other files",
    "import_parts": "archives that wait to be taken, a short time",
    "candidate_evidence": "the same, of what was inferred for the profile and as facts",
    "vector_changes": "what the vector store has yet to be told: keyed tags",
    "vector_collections": "names of collections in the vector store; what is in them is made of the documents' texts",
    "erasures": "what stays of users that are no more: a user who can export has none",
    "segments": "the sealed index of messages and facts: made of them",
    "segment_items": "the same, of newer ones",
    "hot_copies": "copies in Redis of what is in PostgreSQL",
}
