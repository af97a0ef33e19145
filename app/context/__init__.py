"""Context: which memories enter a prompt, under a budget, and why."""
