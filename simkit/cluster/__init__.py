"""The facade that users hold, and the only place that assembles concrete parts."""
