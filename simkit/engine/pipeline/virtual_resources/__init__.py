"""Resources that are not stored: reviews and component statuses."""
