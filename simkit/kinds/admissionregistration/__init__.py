"""Strategies of the group admissionregistration."""
