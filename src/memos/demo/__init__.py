"""The demo: a conversation of nine months that ships with MemOS, and questions whose answers are known."""
