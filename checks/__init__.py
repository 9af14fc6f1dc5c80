"""What `make check` asks beyond style and types: known vulnerabilities, and secrets in the tree."""
