"""Who must hear of it."""
