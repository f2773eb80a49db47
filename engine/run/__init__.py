"""Running a drawn graph: step by step with breakpoints, in compiled groups, and in training."""
