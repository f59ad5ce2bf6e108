"""Sets up Django once, calls a function of `runs`, and prints what it returns as JSON.

An invariant that does not hold ends the process with a traceback.
"""

from __future__ import annotations

import faulthandler
import json
import logging
import sys

import django

from tests import settings
from tests.invariants.killing import exports, runs, submissions

if __name__ == "__main__":
    faulthandler.enable()
    database, function, *arguments = sys.argv[1:]
    settings.DATABASES = {"default": json.loads(database)}
    django.setup()
    # Each killed export is logged; that is expected here.
    logging.disable(logging.ERROR)
    exports.prepare()
    [called] = [getattr(module, function) for module in (runs, submissions) if hasattr(module, function)]
    print(json.dumps(called(*arguments)))  # noqa: T201
