"""System checks of settings and declarations, in the module of their subject.

No check calls a project's code, except for the `check()` of an engine. To find the text of an id, search
for its number in quotes.

Only two checks query databases: `check_keys()` runs with `check --database default`, and `check_site()` if
`--deploy` is given, too.

A problem in a declaration that `django.contrib.sitemaps` accepts is a warning, unless the class declares
expressions, or the section cannot be served at all.
"""
