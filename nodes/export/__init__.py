"""Export of a drawing: one file a target, and what they share."""
