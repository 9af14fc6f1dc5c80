"""A plain-text IMAP server that says what a test wants and keeps what it heard."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Script:
    """`answers` by command; whatever else is asked is refused. `heard` are the lines of all clients."""

    port: int
    answers: Mapping[str, str]
    greeting: str
    heard: list[str] = field(default_factory=list)

    def serve(self, conn: socket.socket) -> None:
        with conn, conn.makefile("rwb") as lines:
            lines.write(self.greeting.encode() + b"\r\n")
            lines.flush()
            for line in lines:
                text = line.decode("ascii", "replace").strip()
                self.heard.append(text)
                tag, _, rest = text.partition(" ")
                said = self.answers.get(rest.split(" ")[0].upper(), "{tag} BAD not known")
                lines.write(said.format(tag=tag).replace("\n", "\r\n").encode() + b"\r\n")
                lines.flush()


@contextmanager
def serving(answers: Mapping[str, str], greeting: str = "* OK ready") -> Iterator[Script]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        script = Script(listening.getsockname()[1], answers, greeting)

        def accept() -> None:
            while True:
                try:
                    conn, _ = listening.accept()
                except OSError:
                    return
                script.serve(conn)

        worker = threading.Thread(target=accept)
        worker.start()
        try:
            yield script
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            worker.join(10)
