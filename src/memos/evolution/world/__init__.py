"""The world model: what an environment is like, with its evidence."""
