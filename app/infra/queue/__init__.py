"""The queue of what is owed: Procrastinate's tables in a schema of their own, filled in the transactions of the
doors.
"""
