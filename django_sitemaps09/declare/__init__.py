"""What a project writes, and what that means: classes, hooks, locations, named sections, and their hosts.

Each of `location`, `lastmod`, `changefreq` and `priority` is a constant, a query expression, or a method
that takes the item. `location` can also be a `Route`. Expressions become columns of the query. If no hook
is a method, no model instances are created.
"""
