"""Mail in: from a source to rows in the store."""
