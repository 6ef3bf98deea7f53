"""Names, objects, identities, requests, errors and time: the vocabulary of all other packages."""
