"""Stand-ins at the seams: they do what they are told, and keep what they were asked."""
