"""Random histories of a site whose sitemaps are served live, for `test_fuzz_live`."""
