"""The user's rights beside forgetting: what they let be done with what they say."""
