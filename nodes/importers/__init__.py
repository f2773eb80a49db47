"""Importers: models of other formats as Cells."""
