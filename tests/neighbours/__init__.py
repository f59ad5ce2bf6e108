"""The how-tos for other packages, followed on sites of `project`, to which their blocks are appended."""
