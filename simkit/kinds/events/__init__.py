"""Strategies of the group events. Events are stored as those of the core group."""
