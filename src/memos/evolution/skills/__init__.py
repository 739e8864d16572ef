"""Skills: made of policies, written, edited, exported and imported."""
