"""What follows from the state of workloads: pure decisions that controllers and subresources share."""
