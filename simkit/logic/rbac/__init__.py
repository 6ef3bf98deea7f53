"""Role-based access control: does it match, who grants, is it covered."""
