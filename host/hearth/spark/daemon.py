"""What Spark starts to have its Python workers forked; ``spark.python.daemon.module`` names this module.

It loads what a daemon needs where no spare has loaded that before.
"""

from __future__ import annotations

from hearth.spark.hand_over import hand_over, is_spare

if __name__ == "__main__":
    if not is_spare():
        hand_over()
    from hearth.spark.worker_daemon import serve  # only now, for it takes time

    serve()
