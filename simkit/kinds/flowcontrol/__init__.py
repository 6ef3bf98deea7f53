"""Strategies of the group flowcontrol (API priority and fairness)."""
