"""The agent that answers questions from mail, and its audit."""
