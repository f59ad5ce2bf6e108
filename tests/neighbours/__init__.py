"""The how-tos for other packages, followed on sites that have these packages; see `howtos` in tox.ini.

`project` has the files that each page starts from. The blocks of the page are appended to them.
"""
