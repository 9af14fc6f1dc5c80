"""The mail store and its search. It knows nothing of agents."""
