"""The audit: its table, and the writer of the entries that have no transaction of their own."""
