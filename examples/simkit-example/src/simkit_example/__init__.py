"""One part of each sort for simkit: an authorizer, an admission plugin, a controller and a finding."""
