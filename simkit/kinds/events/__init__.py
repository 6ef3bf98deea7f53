"""Events of the newer group; they are stored as those of the core group."""
