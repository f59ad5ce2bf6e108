"""Models with the usual kinds of `get_absolute_url()`. A comment `here` marks a line that is refused."""
