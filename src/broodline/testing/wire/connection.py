"""One connection of the wire server: reads requests, plays plans, notices a client that left."""

from __future__ import annotations

import io
import selectors
import socket
import socketserver
import struct
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import monotonic
from typing import Any, TypeAlias, cast

from .anthropic import ANTHROPIC
from .desk import Desk
from .frame import FormatName, WireFormat
from .gate import Gate, format_of, json_object
from .openai import OPENAI
from .plan import BEFORE_HEAD, Ending, Plan, plan_of, refused
from .request import WireRequest
from .script import Status, Word, checked_word

_FORMATS: dict[FormatName, WireFormat] = {"openai": OPENAI, "anthropic": ANTHROPIC}
_AT_ONCE = struct.pack("ii", 1, 0)  # linger for no time: close() resets
_USED_UP = Status(500, text="the script is used up: play() one more word, or set a rule")

Rule: TypeAlias = Callable[[WireRequest], Word | None]
"""What answers a request for which the script has no word; None is a used-up script."""


class WireListener(ThreadingHTTPServer):
    """Accepts connections, a thread for each; `accept_all` runs in a thread of its own."""

    daemon_threads = True  # nobody's exit waits for a server that was not closed
    request_queue_size = 128
    timeout = 0.0

    def __init__(self, address: tuple[str, int], desk: Desk, gate: Gate, pause: float) -> None:
        super().__init__(address, WireConnection)
        self.desk = desk
        self.gate = gate
        self.pause = pause
        self.rule: Rule | None = None

    def server_bind(self) -> None:
        """Without the name lookup of `HTTPServer`."""
        socketserver.TCPServer.server_bind(self)

    def accept_all(self, ended: socket.socket) -> None:
        """Accept until `ended` is readable."""
        with selectors.DefaultSelector() as ready:
            ready.register(self.socket, selectors.EVENT_READ)
            ready.register(ended, selectors.EVENT_READ)
            while all(key.fileobj is not ended for key, _ in ready.select()):
                self.handle_request()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Count the connection in before its thread starts."""
        thread = threading.Thread(
            target=self.process_request_thread,
            args=(request, client_address),
            name=f"wire connection {self.desk.accepted()}",
            daemon=True,
        )
        self.desk.enter(request, thread)
        thread.start()

    def shutdown_request(self, request: Any) -> None:
        """Close at once: what should be a reset stays one."""
        self.desk.leave(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep what nobody expected; a client that is gone is no fault."""
        fault = sys.exception()
        if isinstance(fault, Exception) and not isinstance(fault, OSError):
            self.desk.failed(fault)


class WireConnection(BaseHTTPRequestHandler):
    """Serves one connection in its own thread."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a frame leaves when it is written

    @property
    def listener(self) -> WireListener:
        """The server, as what it is."""
        return cast(WireListener, self.server)

    def handle(self) -> None:
        """Serve requests until one side closes."""
        self.close_connection = False
        reader = cast(io.BufferedReader, self.rfile)
        arrived = not self._cut_on_arrival()
        while arrived and not self.close_connection and reader.peek(1):
            arrived = not self._cut_on_arrival()
            if arrived:
                self.handle_one_request()

    def do_POST(self) -> None:
        """Answer one request, whatever its method."""
        raw = self._read_body()
        if raw is None:
            self.send_error(411, "The body needs a content-length.")
            return
        headers = self._lower()
        name = format_of(self.path, headers)
        body = json_object(raw)
        refusal = self.listener.gate.refusal(name, self.command, self.path, headers, body)
        number = self.listener.desk.number_of(self.connection)

        def make(order: int) -> WireRequest:
            return WireRequest(
                name, self.command, self.path, headers, body or {}, raw, order, number
            )

        request, word = self.listener.desk.receive(make, refusal is None)
        if refusal is None and word is None:
            word = self._decided(request)
        self._play(plan_of(refusal or word or _USED_UP, request, _FORMATS[name]))

    do_GET = do_HEAD = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_POST  # noqa: N815

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """For what is no HTTP: JSON instead of the library's page, and the end."""
        error = Status(code, {"error": {"message": message or "Bad request.", "type": "http"}})
        self.close_connection = True
        self.request_version = self.protocol_version  # an unread one would leave the headers out
        self._play(refused(OPENAI, 0, error))

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed; `WireServer.requests` has it all."""

    def _decided(self, request: WireRequest) -> Word | None:
        rule = self.listener.rule
        if rule is None:
            return None
        try:
            return checked_word(rule(request))
        except Exception as fault:
            self.listener.desk.failed(fault)
            return Status(500, text=f"the rule failed: {type(fault).__name__}: {fault}")

    def _cut_on_arrival(self) -> bool:
        cut = self.listener.desk.cut_on_arrival()
        if cut is not None:
            self._end("reset" if cut.reset else "close")
        return cut is not None

    def _read_body(self) -> bytes | None:
        """The whole body; None where its length is not told."""
        length = self.headers.get("content-length", "0")
        if "transfer-encoding" in self.headers or not length.isdecimal():
            return None
        raw = self.rfile.read(int(length))
        if len(raw) < int(length):
            raise ConnectionResetError("the client left in the middle of its request")
        return raw

    def _lower(self) -> dict[str, str]:
        """The headers; what comes twice is joined."""
        found: dict[str, str] = {}
        for name, value in self.headers.items():
            key = name.lower()
            found[key] = f"{found[key]}, {value}" if key in found else value
        return found

    def _play(self, plan: Plan) -> None:
        if plan.hold == BEFORE_HEAD and not self._hold():
            return
        if plan.status is None:
            self._end(plan.ending)
            return
        if not plan.chunked:
            data = b"".join(plan.parts)
            self._head(plan.status, plan, {"content-length": str(len(data))})
            self.wfile.write(data if self.command != "HEAD" else b"")
            return
        self._head(plan.status, plan, {"transfer-encoding": "chunked"})
        if not self._body(plan):
            return
        if plan.ending == "whole":
            self.wfile.write(b"0\r\n\r\n")
        else:
            self._end(plan.ending)

    def _head(self, status: int, plan: Plan, framing: dict[str, str]) -> None:
        headers = {"date": self.date_time_string(), **plan.headers, **framing}
        if self.close_connection:
            headers["connection"] = "close"
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def _body(self, plan: Plan) -> bool:
        """Write the pieces; False when one side closed meanwhile."""
        pause = self.listener.pause if plan.every is None else plan.every
        for index, data in enumerate(plan.parts):
            if index == plan.hold and not self._hold():
                return False
            if index and pause and not self._stays(None, pause):
                return False
            if data:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        return True

    def _end(self, ending: Ending) -> None:
        self.close_connection = True
        if ending == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)

    def _hold(self) -> bool:
        """Wait for a release; False when one side closed instead."""
        with self.listener.desk.holding() as released:
            return self._stays(released, None)

    def _stays(self, released: socket.socket | None, seconds: float | None) -> bool:
        """Wait, watching the client; False, and the connection ends, when it left."""
        deadline = None if seconds is None else monotonic() + seconds
        with selectors.DefaultSelector() as ready:
            ready.register(self.connection, selectors.EVENT_READ)
            if released is not None:
                ready.register(released, selectors.EVENT_READ)
            while ready.get_map():
                left = None if deadline is None else max(0.0, deadline - monotonic())
                found = [key.fileobj for key, _ in ready.select(left)]
                if self.connection not in found:
                    return True
                if not self._client_sends():
                    self.close_connection = True
                    return False
                # It sends its next request ahead: its end cannot be seen before that is read.
                ready.unregister(self.connection)
        return True

    def _client_sends(self) -> bool:
        try:
            return bool(self.connection.recv(1, socket.MSG_PEEK))
        except OSError:
            return False
