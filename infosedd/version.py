"""The version of this release; the packaging reads it from here."""

VERSION = "0.1.0"

ESTIMATION_VERSION = 1
"""Counted up when the same model and rows give another estimate, error, baseline or warning: stored ones are then
estimated anew instead of reused, and stay beside the new ones."""
