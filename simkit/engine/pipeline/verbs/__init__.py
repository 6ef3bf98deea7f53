"""The verbs on resources, with one file per family."""
