"""The `memos` command. Importing this package loads neither the system nor any model."""
