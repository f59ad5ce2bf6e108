"""The app that the snippets of the README suppose: there it is imported as `shop`."""
