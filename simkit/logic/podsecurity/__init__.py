"""Pod security levels: what a pod may ask for at each of them, and what a namespace demands."""
