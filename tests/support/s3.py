"""An object store that speaks as much of S3 as a writer needs, and can be slow to be reached or refuse."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

__all__ = ["S3Stub", "open_s3"]

_LARGEST = 64 * 1024 * 1024


class S3Stub:
    """Objects by `bucket/key`; what is uploaded in parts is there once it is completed.

    The next `failures` requests are answered with `status`.
    """

    def __init__(self) -> None:
        self.url = ""
        self.objects: dict[str, bytes] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.requests: list[str] = []
        self.signed: set[bool] = set()
        self.failures = 0
        self.status = 503

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one request."""
        body = await request.read()
        self.requests.append(f"{request.method} {request.path}")
        self.signed.add(request.headers.get("Authorization", "").startswith("AWS4-HMAC-SHA256 "))
        if self.failures:
            self.failures -= 1
            return web.Response(status=self.status, text="<Error><Code>Refused</Code></Error>")
        name, query = request.path.lstrip("/"), request.query
        if request.method == "POST":
            return self._begin() if "uploads" in query else self._complete(name, query["uploadId"], body)
        if request.method == "DELETE":
            del self.uploads[query["uploadId"]]
            return web.Response(status=204)
        if "uploadId" in query:
            self.uploads[query["uploadId"]][int(query["partNumber"])] = body
        else:
            self.objects[name] = body
        return web.Response(headers={"ETag": '"e"'})

    def _begin(self) -> web.Response:
        upload = f"u{len(self.requests)}"
        self.uploads[upload] = {}
        return _xml("InitiateMultipartUploadResult", UploadId=upload)

    def _complete(self, name: str, upload: str, body: bytes) -> web.Response:
        parts = self.uploads.pop(upload)
        numbers = [int(n) for n in re.findall(rb"<PartNumber>(\d+)</PartNumber>", body)]
        self.objects[name] = b"".join(parts[number] for number in numbers)
        return _xml("CompleteMultipartUploadResult", ETag="e")


def _xml(element: str, **fields: str) -> web.Response:
    inner = "".join(f"<{name}>{text}</{name}>" for name, text in fields.items())
    text = f'<?xml version="1.0"?><{element}><Bucket>b</Bucket><Key>k</Key>{inner}</{element}>'
    return web.Response(text=text, content_type="application/xml")


@asynccontextmanager
async def open_s3() -> AsyncIterator[S3Stub]:
    """Serve on loopback."""
    stub = S3Stub()
    app = web.Application(client_max_size=_LARGEST)
    app.router.add_route("*", "/{path:.*}", stub.handle)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        stub.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield stub
    finally:
        await runner.cleanup()
