"""What each verb means: one file for each family."""
