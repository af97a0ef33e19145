"""`cairn bench`: how fast the service is, beside a hello, on servers of its own."""
