"""The facade for users, and the only place that assembles concrete parts."""
