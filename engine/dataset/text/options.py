"""Choices that transforms of text take."""

from __future__ import annotations

from enum import Enum


class NormalizeForm(Enum):
    """Unicode's normal forms (Unicode Standard Annex 15); NONE leaves text as it is."""

    NONE = "none"
    NFC = "NFC"
    NFKC = "NFKC"
    NFD = "NFD"
    NFKD = "NFKD"
