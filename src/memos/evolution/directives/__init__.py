"""A user's standing wishes and opinions, read from their own words."""
