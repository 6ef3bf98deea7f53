"""Questions about access: who can, can, permissions, matrices, near misses, remedies, comparison, expectations."""
