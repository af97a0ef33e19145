"""PostgreSQL, Valkey and Chroma as child processes on loopback: what `cairn up` and the tests start."""
