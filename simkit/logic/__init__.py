"""Pure decisions over a snapshot."""
