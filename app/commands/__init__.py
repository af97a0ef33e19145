"""The subcommands of `cairn` that need more than a few lines."""
