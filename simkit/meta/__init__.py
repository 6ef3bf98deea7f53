"""Names, objects, identities, messages, errors, time: what everything else speaks in."""
