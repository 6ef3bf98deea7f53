"""What follows from a change. One file per controller."""
