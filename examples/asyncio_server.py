"""A small server with asyncio and a continuous batch: it streams tokens to many clients at the same time.

    python3 examples/asyncio_server.py MODEL_DIR --port 8000
    curl -N localhost:8000 -d '{"prompt": "Once upon a time", "max_new_tokens": 40}'

Each POST has the arguments of smelt.Batch.submit as a JSON object. The reply has one line of JSON per piece of news:
{"ids": [...], "text": "...", "finish": null}. A client that closes its connection cancels its request. GET replies with
the counts of the batch. For a server with OpenAI's API, limits and metrics, use `smelt serve`.
"""

import argparse
import asyncio
import contextlib
import json
from concurrent.futures import ThreadPoolExecutor

import smelt

MOST_BODY = 1 << 20  # bytes of a request's body
MOST_HEAD = 64  # header lines of a request
PATIENCE = 30  # seconds for a client to send its request


class BatchLoop:
    """Runs the steps of a batch in one thread, and passes what each request gets to a queue of asyncio."""

    def __init__(self, batch):
        self.batch = batch
        self._thread = ThreadPoolExecutor(1)
        self._queues = {}
        self._work = asyncio.Event()

    async def _call(self, function, *arguments, **options):
        """Calls the batch in its thread, where no step runs meanwhile, and lets the event loop go on."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, lambda: function(*arguments, **options))

    async def run(self):
        """Runs steps as long as there are requests, and waits for the next one otherwise."""
        while True:
            await self._work.wait()
            for id, progress in await self._call(self._step, list(self._queues)):
                queue = self._queues.pop(id, None) if progress.finish else self._queues.get(id)
                if queue is not None:  # else its client has left meanwhile
                    queue.put_nowait(progress)
            if not self._queues:
                self._work.clear()

    def _step(self, ids):
        self.batch.step()
        news = ((id, self.batch.poll(id)) for id in ids)
        return [(id, progress) for id, progress in news if progress.tokens or progress.finish]

    async def stream(self, prompt, **options):
        """Submits a request, and yields what it gets. Where the consumer ends early, the request is cancelled."""
        submission = asyncio.ensure_future(self._call(self.batch.submit, prompt, **options))
        finish = None
        try:
            id = await asyncio.shield(submission)
            queue = self._queues[id] = asyncio.Queue()
            self._work.set()
            while finish is None:
                progress = await queue.get()
                finish = progress.finish
                yield progress
        finally:
            if finish is None:
                await asyncio.shield(self._drop(submission))

    async def _drop(self, submission):
        """Cancels a request, even one whose client has left before it was submitted."""
        with contextlib.suppress(smelt.Error, TypeError, ValueError):  # it was refused
            id = await submission
            self._queues.pop(id, None)
            await self._call(self._cancel, id)

    def _cancel(self, id):
        self.batch.cancel(id)
        with contextlib.suppress(smelt.Error):  # the last step has told its end
            self.batch.poll(id)

    async def counts(self):
        return await self._call(lambda: self.batch.counts)


class BadRequest(Exception):
    """A request that is no HTTP, or has no JSON object."""


async def read_request(reader):
    """Returns the method and the body of an HTTP request."""
    method = (await reader.readline()).split(b" ")[0].decode("latin-1")
    length = 0
    for _ in range(MOST_HEAD):
        name, _, value = (await reader.readline()).partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            length = int(value)
        if not name.strip():
            break
    else:
        raise BadRequest(f"more than {MOST_HEAD} lines of headers")
    if length > MOST_BODY:
        raise BadRequest(f"a body of {length} bytes: expected at most {MOST_BODY}")
    return method, await reader.readexactly(length)


def arguments_of(body):
    """Returns the prompt and the options of a body."""
    try:
        options = json.loads(body)
    except ValueError as fault:
        raise BadRequest(f"the body is no JSON: {fault}") from None
    if not isinstance(options, dict) or "prompt" not in options:
        raise BadRequest("expected a JSON object with a prompt")
    return options.pop("prompt"), options


def head(status, kind):
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n".encode()


def line(**fields):
    return (json.dumps(fields) + "\n").encode()


async def stream_to(loop, writer, prompt, options):
    """Writes a line for each piece of news. The status is written with the first one, when the request was accepted."""
    has_begun = False
    async with contextlib.aclosing(loop.stream(prompt, **options)) as news:
        async for progress in news:
            if not has_begun:
                writer.write(head("200 OK", "application/x-ndjson"))
                has_begun = True
            writer.write(line(ids=progress.ids, text=progress.text, finish=progress.finish, error=progress.error))
            await writer.drain()


async def reply(loop, reader, writer):
    """Reads one request and writes its reply."""
    try:
        method, body = await asyncio.wait_for(read_request(reader), PATIENCE)
        if method == "GET":
            writer.write(head("200 OK", "application/json") + line(**await loop.counts()))
        elif method == "POST":
            prompt, options = arguments_of(body)
            await while_connected(reader, stream_to(loop, writer, prompt, options))
        else:
            raise BadRequest(f"{method[:20]!r}: expected GET or POST")
    except (BadRequest, TypeError, ValueError, smelt.Error) as fault:  # of the arguments
        busy = getattr(fault, "status", "") == "unavailable"
        status = "503 Service Unavailable" if busy else "400 Bad Request"
        writer.write(head(status, "application/json") + line(error=str(fault)))


async def until_left(reader):
    """Returns when the client has closed its side of the connection. Whatever else it sends is dropped."""
    while await reader.read(1024):
        pass


async def while_connected(reader, work):
    """Awaits `work`, but cancels it when the client leaves."""
    task, leaving = asyncio.ensure_future(work), asyncio.ensure_future(until_left(reader))
    try:
        await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        if not task.done():
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def serve_client(loop, reader, writer):
    try:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.TimeoutError):
            await reply(loop, reader, writer)
            await writer.drain()
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def serve(batch, host, port):
    loop = BatchLoop(batch)
    server = await asyncio.start_server(lambda reader, writer: serve_client(loop, reader, writer), host, port)
    print(f"listening on http://{host}:{server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await loop.run()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="directory of the model, or a spec")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0: any free one; default: 8000")
    parser.add_argument("--slots", type=int, default=8, help="requests that run together; default: 8")
    parser.add_argument("--length", type=int, default=256, help="most tokens of a request; default: 256")
    given = parser.parse_args()
    plan = smelt.compile(given.model, mode="infer", max={"B": given.slots, "T": given.length})
    with smelt.Batch(plan.session(), prepares=True) as batch, contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(batch, given.host, given.port))


if __name__ == "__main__":
    main()
