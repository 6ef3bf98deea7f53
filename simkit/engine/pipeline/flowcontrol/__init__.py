"""Priority and fairness: whose requests are answered first when there are more than can be answered at once."""
