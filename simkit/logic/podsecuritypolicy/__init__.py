"""Pod security policies of releases up to 1.24: what one makes of a pod, and what it has against it."""
