"""Plans of manifests: what applying them does to a cluster, tried on a fork through the whole handler chain."""
