"""What happens in a run, and nothing of how it is stored or sent: no Django, no database, no network."""
