"""Resources that are answered and not stored: reviews and component statuses."""
