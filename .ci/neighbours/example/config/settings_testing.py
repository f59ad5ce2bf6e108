"""The settings that djpress's tests import; their own are not in its source distribution."""

from site_djpress import *  # noqa: F403
