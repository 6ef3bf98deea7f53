"""An API server you can hold in a notebook cell, and the policy analyses that stand on it."""
