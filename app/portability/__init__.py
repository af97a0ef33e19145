"""Taking everything about a user out, and into another installation."""
