"""Keys and certificates of pods: what a request proves, and what a signer may issue for it."""
