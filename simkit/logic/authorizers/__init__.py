"""The decisions of the authorizers that need no other process: the same for the API server and for analyses."""
