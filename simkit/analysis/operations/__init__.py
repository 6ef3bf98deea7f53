"""Rehearsals of operations: drained and lost nodes, rollouts and loads, each on a fork with simulated nodes."""
