"""MCP: what an agent's host speaks. Tools, resources and prompts over `AsyncMemOS` or a server's client; nothing else."""
