"""What episodes and steps were worth, and how reliable what was learned is."""
