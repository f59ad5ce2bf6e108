"""The how-tos for other packages, followed on sites that have these packages; see `howtos` in tox.ini.

Each folder has the site that a page starts from. The blocks of the page are appended to its files.
"""
