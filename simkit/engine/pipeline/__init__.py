"""In what order, and what a verb means here."""
