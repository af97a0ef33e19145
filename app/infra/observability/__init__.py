"""What a running process tells of itself: log lines that never hold what a caller said."""
