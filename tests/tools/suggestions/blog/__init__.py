"""An app with models for methods as projects write them."""
