"""A server that does nothing but answer: what the clients of the serving benchmarks could ask at most.

python benchmarks/serving_nothing.py        prints its address, and answers until it is ended
"""

import asyncio
import sys

END_OF_HEAD, LENGTH = b"\r\n\r\n", b"content-length: "
BODY = b'{"predictions":[{"label":"a","probabilities":{"a":0.963407,"b":0.036593}}],"milliseconds":0.1}'
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s" % (len(BODY), BODY)


class Nothing(asyncio.Protocol):
    """Reads no more of a request than where it ends."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what to write to."""
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._missing, self._kept = transport, 0, b""

    def data_received(self, data: bytes) -> None:
        """Answer when a request is whole."""
        if self._missing == 0:
            data = self._kept + data
            head, end, body = data.partition(END_OF_HEAD)
            if not end:
                self._kept = data
                return
            self._kept = b""
            length = int(head.partition(LENGTH)[2].split(b"\r\n", 1)[0] or 0)
            self._missing = length - len(body)
        else:
            self._missing -= len(data)
        if self._missing == 0:
            self._transport.write(ANSWER)


async def serve() -> None:
    """On a free port, until it is ended."""
    server = await asyncio.get_running_loop().create_server(Nothing, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    sys.exit(asyncio.run(serve()))
