"""Questions over a snapshot, answered as DataFrames and graphs."""
