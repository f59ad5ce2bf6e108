"""Code that mypy must accept from users of the package, or reject. It is never run."""
