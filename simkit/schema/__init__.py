"""The kinds of each release and their schemas: compiled tables, and one pass that decodes and checks objects."""
