"""The HTTP SDK: the verbs of `MemOS` and `AsyncMemOS` on a server, with the same parameters and the same answers.

from memos.client import Client
with Client("http://127.0.0.1:8000") as memos:
    memos.add("I moved to Oslo last week", user="alice")
    print(memos.search("where do I live?", user="alice"))
"""

from memos.client.client import AsyncClient
from memos.client.sync import Client

__all__ = ["AsyncClient", "Client"]
