"""What an agent reports: its steps kept, cut into episodes."""
