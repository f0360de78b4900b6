"""`proctor serve api` whose retention looks all the time, so that it works as soon as it may."""

from __future__ import annotations

from proctor_api.__main__ import main
from proctor_api.retention import worker

if __name__ == "__main__":
    worker.EVERY_SECONDS = worker.AGAIN_SECONDS = 0.1
    main()
