"""The version of this release; the packaging reads it from here."""

VERSION = "0.1.0"
