"""Dynamic resource allocation: the devices of resource slices, and their allocation to the claims of pods."""
