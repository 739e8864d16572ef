"""What agents can do with memory, as tools: what each takes and answers, whoever publishes it (`memos.mcp`, hosts)."""
