"""Use of API versions that a release removes, and the lives of versions."""
