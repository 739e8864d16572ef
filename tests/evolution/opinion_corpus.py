"""Comments on outcomes, labelled: what is good news, what is bad news, and what says nothing of the outcome."""

from __future__ import annotations

GOOD = (
    "all good now, the error is gone", "fine. Always run journalctl -xe after a restart fails",
    "works, but never restart on failed health checks", "The crash went away after your change", "No more timeouts, great",
    "the warning disappeared", "That cleared the error", "ok. From now on, check the disk before a failed backup is retried",
    "Good. Never delete a broken build without asking", "Nice, and remember to check for errors next time",
    "The tests don't fail any more", "bug squashed, thanks", "Problem solved", "the issue has been resolved", "It no longer hangs",
    "works without errors now", "Great, next time avoid the wrong branch", "you fixed the broken link",
    "deployment succeeded with zero failures", "the leak is gone", "Perfect. Always roll back if the health check fails", "问题解决了，谢谢",
    "现在不报错了", "没有再崩溃", "好的，下次失败了先回滚", "不错，务必在出错时通知我", "漏洞已修复", "警告不见了", "你把多余的文件删了，很好", "you removed the duplicate rows, nice",
    "the flaky test is fixed", "that got rid of the exception", "Looks right to me. In future don't touch the failing tests",
)  # fmt: skip
BAD = (
    "you deleted logs that the audit needed", "you deleted logs that the audit needed. Never delete log files.",
    "You wiped the staging database", "my config is gone", "the backups were deleted", "it overwrote my settings",
    "you broke production", "the agent deleted the wrong rows", "all my data is lost", "you dropped a table we needed",
    "the site no longer loads", "it stopped working after that", "The error is not gone", "the bug is still not fixed",
    "the problem isn't resolved", "failed to fix the crash", "you corrupted the index", "you leaked a password",
    "my files are missing", "that broke the login page", "you've removed the audit trail", "Never worked for me",
    "you erased our history. Always make a backup first.", "数据丢了", "你把配置覆盖了", "你删了我的备份", "问题还没解决", "错误没有消失", "日志不见了", "你弄坏了登录页面",
    "文件被删了，下次先问我", "你清空了数据库",
)  # fmt: skip
NO_VERDICT = (
    "Never delete log files", "always check the failed jobs first", "Next time, retry when the build fails", "以后出错了先通知我", "务必在失败后回滚",
    "From now on write errors to stderr", "Make sure the failed tests are listed", "the red one", "记得检查错误日志",
    "don't ever restart a broken node",
)  # fmt: skip
