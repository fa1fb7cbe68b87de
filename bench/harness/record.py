"""What pawl says to the server, for the floor to repeat it."""

import os
import re
import socket
import threading

from harness.processes import Failure


class Recorder:
    """Stands between one client and the server, and keeps what both say, per connection."""

    def __init__(self, server):
        self.server = server
        self.lines = []
        self.door = socket.create_server(("127.0.0.1", 0))
        self.url = f"redis://127.0.0.1:{self.door.getsockname()[1]}"
        threading.Thread(target=self.welcome, daemon=True).start()

    def welcome(self):
        while True:
            client, _ = self.door.accept()
            server = socket.create_connection(("127.0.0.1", self.server.port))
            asked, answered = bytearray(), bytearray()
            self.lines.append((asked, answered))
            for source, target, record in ((client, server, asked), (server, client, answered)):
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.pass_on, args=(source, target, record), daemon=True).start()

    @staticmethod
    def pass_on(source, target, record):
        try:
            while part := source.recv(1 << 16):
                record += part
                target.sendall(part)
        except OSError:
            pass
        target.close()


def messages(stream):
    """Cuts what was said into whole messages of Redis' protocol."""
    ends = []
    position = 0

    def skip(position):
        end = stream.index(b"\r\n", position) + 2
        kind, rest = stream[position : position + 1], bytes(stream[position + 1 : end - 2])
        if kind == b"$":
            return end + max(0, int(rest) + 2) if int(rest) >= 0 else end
        if kind == b"*":
            for _ in range(max(0, int(rest))):
                end = skip(end)
        return end

    while position < len(stream):
        ends.append(skip(position))
        position = ends[-1]
    return [bytes(stream[begin:end]) for begin, end in zip([0] + ends, ends)]


def record_pair(recorder, worker, name, file):
    """Lets a participant acquire and release, and writes down what it says and hears in the last two of these pairs."""
    worker.ask(f"pairs {name} 50")
    asked, answered = max(recorder.lines, key=lambda line: len(line[0]))
    requests, answers = messages(asked)[-4:], messages(answered)[-4:]
    ids = [set(re.findall(rb"\b[0-9a-f]{32}\b", b" ".join(requests[begin : begin + 2]))) for begin in (0, 2)]
    before, now = ids[0] - ids[1], ids[1] - ids[0]
    if len(before) != 1 or len(now) != 1:
        raise Failure("the requests of an acquire and release of pawl's do not look as expected")
    old, new = before.pop(), now.pop()
    if [request.replace(old, new) for request in requests[:2]] != requests[2:]:
        raise Failure("two pairs of pawl's requests differ in more than the claim's id")
    begins = [os.path.commonprefix([answers[index], answers[index + 2]])[:12] for index in (0, 1)]
    file.write_text("\n".join([new.decode()] + [text.hex() for text in requests[2:] + begins]) + "\n")
