"""Files that are replaced whole, in a folder or a storage of Django, and what is published there.

Other rooms import each name from the module that defines it.
"""
