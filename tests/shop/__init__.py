"""The app that the snippets of the documentation suppose: there it is imported as `shop`."""
