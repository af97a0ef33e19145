"""The worker process: the same objects as the API's, no HTTP; it does what is owed."""

import asyncio
import signal

from app import wiring
from app.infra.db import migrations
from app.infra.queue.runner import Runner, make_queue
from app.settings import Settings


async def work(settings: Settings) -> None:
    """Do jobs until SIGTERM or SIGINT, then finish what runs and give the rest back."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await migrations.require_supported(settings.database_url.get_secret_value())
    async with wiring.build(settings) as wired:
        await wired.erasures.apply_register()
        runner = Runner(make_queue(settings.queue_url.get_secret_value()), wired.handlers)
        await asyncio.gather(runner.run(stop), wired.age_watch.run(stop), wired.sealer.run(stop))
