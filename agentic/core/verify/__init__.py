"""Is each sentence really in its evidence, and where? Pure, deterministic, linear, versioned."""
