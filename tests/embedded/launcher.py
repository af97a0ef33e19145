"""A stand-in for `cairn up`: starts a stack and a service that uses it, says what runs, and stops when it is told to.

Arguments: the data folder, and the shelf.
"""

import json
import os
import sys
from pathlib import Path

from app.infra.embedded.postgres import Durability
from app.infra.embedded.process import Program, StopRequest
from app.infra.embedded.stack import Stack

# It notes at its stop whether PostgreSQL, which it would need then, still answers.
SERVICE = """
import signal, socket, sys, time, pathlib
port, note = int(sys.argv[1]), pathlib.Path(sys.argv[2])
def stop(*_):
    socket.create_connection(("127.0.0.1", port), timeout=5).close()
    note.write_text("the stores were there")
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
note.with_name("service.ready").touch()
while True:
    time.sleep(60)
"""


def main(data: Path, shelf: Path) -> int:
    stop = StopRequest().listen()
    stack = Stack(data, durability=Durability.TESTS, shelf=shelf)
    stack.start()
    port = (stack.urls.database or "").rpartition(":")[2].partition("/")[0]
    note = data / "run" / "service.note"
    for left in (note, note.with_name("service.ready")):
        left.unlink(missing_ok=True)
    service = Program("service", (sys.executable, "-c", SERVICE, port, str(note)))
    stack.supervisor.start(service, note.with_name("service.ready").exists, within_s=20)
    running = {child.program.name: child.pid for child in stack.supervisor.children}
    report = {"pid": os.getpid(), "running": running, "urls": vars(stack.urls)}
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()
    fallen = stack.supervisor.watch(stop)
    lingering = stack.stop()
    sys.stdout.write(f"{fallen and fallen.program.name} fell, {len(lingering)} linger\n")
    return 1 if fallen or lingering else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
