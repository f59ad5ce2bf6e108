"""Sitemaps for the models of other packages. Each module needs the package that it is named after."""
