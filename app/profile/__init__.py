"""The profile: who the user is, field by field, in versions."""
