"""Loggers whose messages begin with time, process, file and line."""

from __future__ import annotations

import logging
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "NOTSET", "WARNING", "getLogger", "get_logger"]

_COLORS = {DEBUG: "\x1b[34m", INFO: "\x1b[32m"}
_ALARM, _PLAIN = "\x1b[31m", "\x1b[0m"


class _Formatter(logging.Formatter):
    """`W1121 17:20:01 4711 train.py:main:12] message`, in colour up to the bracket."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(process)d %(pathname)s:%(funcName)s:%(lineno)d", "%m%d %H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:
        color = _COLORS.get(record.levelno, _ALARM)
        return f"{color}{record.levelname[0]}{super().formatMessage(record)}]{_PLAIN} {record.message}"


def get_logger(
    name: str | None = None, filename: str | None = None, filemode: str | None = None, level: int = WARNING
) -> logging.Logger:
    """The logger called `name`. The first call makes it write messages of `level` and above.

    It writes to the file, opened in `filemode` (by default "a": to its end), or else to the standard error stream.
    Without a name it is Python's root logger, as it is.
    """
    logger = logging.getLogger(name)
    if name is not None and not logger.handlers:
        if filename:
            handler: logging.Handler = logging.FileHandler(filename, filemode or "a")
        else:
            handler = logging.StreamHandler()
            handler.setFormatter(_Formatter())
        logger.addHandler(handler)
        logger.setLevel(level)
    return logger


getLogger = get_logger
