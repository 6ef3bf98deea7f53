"""What objects use of a namespace's quotas."""
