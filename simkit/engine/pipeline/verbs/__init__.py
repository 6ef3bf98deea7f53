"""The verbs on resources: one file for each family."""
