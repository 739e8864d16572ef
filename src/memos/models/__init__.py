"""What MemOS calls models for: embedding and reranking.

Ports in `embed` and `rerank`, providers beside them, the choice by name in `factory`.
"""
