"""A small shell over a file tree in memory: what containers run, and what exec finds there. Nothing leaves memory."""
