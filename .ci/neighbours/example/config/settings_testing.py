"""Settings that djpress's tests import, since its source distribution does not contain them."""

from site_djpress import *  # noqa: F403
