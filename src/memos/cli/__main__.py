"""`python -m memos.cli`, the same as `memos`."""

from memos.cli.main import run

if __name__ == "__main__":
    run()
