"""Models that are served elsewhere, by an endpoint that speaks OpenAI's protocol."""
