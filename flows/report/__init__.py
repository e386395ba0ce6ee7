"""The report: one self-contained page a run, with its pictures and their data beside it."""

from flows.report.page import write_report

__all__ = ["write_report"]
