"""The app that the documentation's snippets import as `shop`."""
