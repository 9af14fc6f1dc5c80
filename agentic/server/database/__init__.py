"""Django's way to Postgres, by the name that its setting ENGINE takes."""
