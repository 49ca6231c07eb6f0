"""A relay on loopback that keeps what passes it: every request with its reply's status and headers, the streams passed on as they come.

Two of them stand before and behind the proxy. The front one numbers each request in a header, by which the back one's is found again.
"""

import http.client
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

# What numbers a request on its way through the proxy.
TAG = "x-request-tag"
# What belongs to one connection and is not passed on.
HOP = {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "proxy-connection", "te"}
# The longest that an upstream may be silent.
TIMEOUT_SECONDS = 300


@dataclass
class Passed:
    """One request, and how it was answered."""

    tag: str
    method: str
    path: str
    body: bytes
    status: int = 0
    headers: dict = field(default_factory=dict)
    # The beginning of a reply that is an error.
    error: str = ""
    # Whether the client went before the end of the reply.
    has_hung_up: bool = False

    def json(self) -> dict:
        return json.loads(self.body)


class Relay:
    """A server that sends on to another one. With `closes` it drops each connection behind its reply without having said so."""

    def __init__(self, target: str, numbers: bool = False, closes: bool = False):
        self.target, self.numbers, self.closes = urlsplit(target).netloc, numbers, closes
        self.lock, self.passed = threading.Lock(), []
        relay = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def handle_any(self):
                relay.answer(self)

            do_GET = do_POST = do_DELETE = do_HEAD = do_PUT = handle_any

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        # A client that hangs up is no error of ours.
        self.server.handle_error = lambda *_: None
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, handler, body: bytes) -> Passed:
        with self.lock:
            tag = str(len(self.passed)) if self.numbers else handler.headers.get(TAG, "")
            passed = Passed(tag, handler.command, handler.path, body)
            self.passed.append(passed)
        return passed

    def answer(self, handler):
        passed = self.take(handler, read_body(handler))
        headers = {key: value for key, value in handler.headers.items() if key.lower() not in HOP}
        if handler.headers.get("upgrade"):
            headers["connection"] = "upgrade"
        if self.numbers:
            headers[TAG] = passed.tag
        connection = http.client.HTTPConnection(self.target, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(handler.command, handler.path, passed.body or None, headers)
            self.pass_back(handler, passed, connection.getresponse())
        except BrokenPipeError:
            # Whoever asked has gone; what came before that is no error.
            passed.has_hung_up = True
            handler.close_connection = True
        except OSError as error:
            passed.error = passed.error or f"the relay: {error}"
            handler.close_connection = True
        finally:
            connection.close()

    def pass_back(self, handler, passed: Passed, reply):
        passed.status = reply.status
        passed.headers = {key.lower(): value for key, value in reply.getheaders()}
        handler.send_response(reply.status)
        for key, value in reply.getheaders():
            if key.lower() not in HOP:
                handler.send_header(key, value)
        bare = handler.command == "HEAD" or reply.status in (204, 304)
        if not bare:
            handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        while not bare and (part := reply.read1(65536)):
            if reply.status >= 400 and len(passed.error) < 600:
                passed.error += part.decode(errors="replace")
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            handler.wfile.flush()
        if not bare:
            handler.wfile.write(b"0\r\n\r\n")
        if self.closes:
            # Behind the reply and a moment later, as llama.cpp does: whoever kept the connection does not know yet.
            handler.wfile.flush()
            time.sleep(0.001)
            handler.close_connection = True


def read_body(handler) -> bytes:
    """A request's body, whole or in chunks."""
    if handler.headers.get("transfer-encoding", "").lower() != "chunked":
        return handler.rfile.read(int(handler.headers.get("content-length") or 0))
    body = b""
    while size := int(handler.rfile.readline().split(b";")[0], 16):
        body += handler.rfile.read(size)
        handler.rfile.readline()
    handler.rfile.readline()
    return body
