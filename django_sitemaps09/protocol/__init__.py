"""The Sitemaps protocol 0.9: limits, values, and the bytes of documents. Nothing here imports Django.

Other rooms import each name from the module that defines it. In docstrings, "the protocol" is
https://www.sitemaps.org/protocol.html, and "the XSD" is its schema.
"""
