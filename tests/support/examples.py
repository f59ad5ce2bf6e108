"""How many examples a run tries.

`SITEMAPS09_EXAMPLES` is the count of examples of each invariant that hypothesis looks for; 30 and more is
a thorough run, as the last step of `.ci/run` is. With more than 30, all hostile documents are as large
as the protocol allows, too. The default is for a run that takes a few minutes.
`SITEMAPS09_KILL_STEP=1` kills an export at each point, not at each eleventh.
"""

from __future__ import annotations

import os

EXAMPLES = int(os.environ.get("SITEMAPS09_EXAMPLES", "15"))
THOROUGH = EXAMPLES >= 30
KILL_STEP = int(os.environ.get("SITEMAPS09_KILL_STEP", "11"))
