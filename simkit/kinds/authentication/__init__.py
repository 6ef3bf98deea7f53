"""Questions about who somebody is."""
