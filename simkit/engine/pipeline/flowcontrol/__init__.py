"""Priority and fairness: who gets an answer under load."""
