"""One part of each sort for simkit: an authorizer, an admission plugin, a controller, a finding and a primitive."""
