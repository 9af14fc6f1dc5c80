"""Mail out: from a query and a scope to hits."""
