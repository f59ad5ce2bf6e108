"""Faces on all rooms below: system checks, the inspector, the status, the audit and suggestions."""
