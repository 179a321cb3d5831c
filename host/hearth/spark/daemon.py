"""The daemon that Spark starts to fork its Python workers; ``spark.python.daemon.module`` names this module.

Preloads the modules of the workers, unless a spare daemon has done so already and takes over.
"""

from __future__ import annotations

from hearth.spark.hand_over import hand_over, is_spare

if __name__ == "__main__":
    if not is_spare():
        hand_over()
    from hearth.spark.worker_daemon import serve  # imported late because it is slow

    serve()
