# SPDX-License-Identifier: GPL-2.0-only
"""What the tests and the figures of the application reminder share: databases, nodes, receivers.

A database counts in the table ends how often each reminder came to be done.
"""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
REMINDER = os.environ.get("REMINDER", str(TOP / "build/reminder/reminder"))
# How many seconds to wait for what has to come
PATIENCE = 300
CLAIMED, DONE = 1, 2


def comes_true(condition, patience, pause=0.05):
    """Wait until a condition holds. Return whether it does within so many seconds."""
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True


def await_true(what, condition, pause=0.05):
    """Wait until a condition holds, or give up."""
    if not comes_true(condition, PATIENCE, pause):
        raise TimeoutError(f"waited {PATIENCE} s for {what}")


def server_programs():
    """The folder of PostgreSQL's server programs, which Debian does not have in PATH."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    path = shutil.which("initdb") or (found[-1] if found else None)
    return Path(path).parent if path else None


class Postgres:
    """A server of our own, on a Unix socket. It is run by an ordinary user."""

    name = "PostgreSQL"

    def __init__(self, folder):
        self.bin = server_programs()
        self.scratch = folder
        self.folder = Path(tempfile.mkdtemp(prefix="pg.", dir=folder))
        self.where = f"postgresql://tester@/postgres?host={self.folder}"
        self.plain = []
        if os.getuid() == 0:
            # A server does not run as root.
            shutil.chown(self.folder, "nobody")
            self.plain = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        self.run("initdb", "-A", "trust", "-U", "tester", "--no-sync", "-E", "UTF8",
                 "--locale=C")
        self.start()

    def run(self, program, *arguments):
        """Run a program of the server's on the data."""
        subprocess.run([*self.plain, self.bin / program, "-D", self.folder / "data", *arguments],
                       check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                       cwd=self.folder)

    def start(self):
        """Start the server, and wait until it answers."""
        options = f"-k {self.folder} -c listen_addresses='' -c max_wal_size=4GB"
        self.run("pg_ctl", "-w", "-t", str(PATIENCE), "-o", options, "-l", self.folder / "log",
                 "start")

    def halt(self):
        """Have the server end as if the machine did."""
        self.run("pg_ctl", "-w", "-t", str(PATIENCE), "-m", "immediate", "stop")

    def crash(self):
        """Have the server end as if the machine did, and start it again."""
        self.halt()
        self.start()

    def close(self):
        """Stop the server."""
        self.run("pg_ctl", "-w", "-t", str(PATIENCE), "-m", "fast", "stop")

    def sql(self, text):
        """Run SQL, and return its rows, with fields as text."""
        out = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d",
                              self.where], check=True, input=text, text=True,
                             stdout=subprocess.PIPE).stdout
        return [tuple(line.split("|")) for line in out.splitlines()]

    @contextlib.contextmanager
    def transaction(self, text):
        """Have a transaction open, in which this was carried out, and roll it back."""
        with subprocess.Popen(["psql", "-X", "-q", "-A", "-t", "-d", self.where], text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as psql:
            psql.stdin.write(f"BEGIN; {text}; SELECT 'begun';\n")
            psql.stdin.flush()
            psql.stdout.readline()
            yield

    def lock(self):
        """Have nobody else write."""
        return self.transaction("LOCK TABLE reminders")

    def count_ends(self):
        """Count from now on how often each reminder comes to be done."""
        self.sql("CREATE TABLE ends (id bigint); CREATE FUNCTION count_end() RETURNS trigger "
                 "LANGUAGE plpgsql AS 'BEGIN INSERT INTO ends VALUES (NEW.id); RETURN NULL; END'; "
                 "CREATE TRIGGER count_end AFTER UPDATE ON reminders FOR EACH ROW "
                 "WHEN (NEW.state = 2) EXECUTE FUNCTION count_end();")

    def between_transactions(self):
        """A node that is stopped holds up nobody: the server carries out what it was sent."""
        return True

    def fill(self, count, first, step):
        """Add reminders: one each @step ns, the first at @first."""
        self.sql(f"INSERT INTO reminders (due, payload) SELECT {first} + {step}::bigint * "
                 f"(n - 1), 'reminder ' || n FROM generate_series(1, {count}) AS n; ANALYZE reminders;")

    def refuses(self, text):
        """Is SQL an error?"""
        return subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", self.where],
                              check=False, input=text, text=True,
                              stderr=subprocess.DEVNULL).returncode != 0

    def statements(self):
        """How many transactions the server has committed."""
        return int(self.sql("SELECT pg_stat_clear_snapshot(); SELECT xact_commit FROM "
                            "pg_stat_database WHERE datname = 'postgres'")[-1][0])


class Sqlite:
    """A file of SQLite."""

    name = "SQLite"

    def __init__(self, folder):
        self.scratch = folder
        self.where = str(Path(tempfile.mkdtemp(prefix="sqlite.", dir=folder)) / "reminders")

    def sql(self, text):
        """Run SQL, and return the rows of the last statement, with fields as text."""
        with contextlib.closing(sqlite3.connect(self.where, timeout=PATIENCE,
                                                isolation_level=None)) as db:
            rows = []
            for statement in filter(str.strip, text.split(";;")):
                rows = db.execute(statement).fetchall()
            return [tuple(map(str, row)) for row in rows]

    def count_ends(self):
        """Count from now on how often each reminder comes to be done."""
        self.sql("CREATE TABLE ends (id);; CREATE TRIGGER count_end AFTER UPDATE ON reminders "
                 "WHEN NEW.state = 2 BEGIN INSERT INTO ends VALUES (NEW.id); END")

    @contextlib.contextmanager
    def lock(self):
        """Have nobody else write."""
        with contextlib.closing(sqlite3.connect(self.where, isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            yield

    def between_transactions(self):
        """Can somebody write, or was a node stopped in the midst of a transaction?"""
        with contextlib.closing(sqlite3.connect(self.where, timeout=1,
                                                isolation_level=None)) as db:
            try:
                db.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                return False
            db.execute("ROLLBACK")
            return True

    def fill(self, count, first, step):
        """Add reminders: one each @step ns, the first at @first."""
        self.sql(f"INSERT INTO reminders (due, payload) WITH RECURSIVE r (n) AS (SELECT 0 UNION "
                 f"ALL SELECT n + 1 FROM r LIMIT {count}) SELECT {first} + {step} * n, "
                 f"'reminder ' || (n + 1) FROM r;; ANALYZE")

    def refuses(self, text):
        """Is SQL an error?"""
        try:
            self.sql(text)
        except sqlite3.Error:
            return True
        return False

    def close(self):
        """There is no server."""


class Receiver:
    """Takes reminders, and remembers when each came: a list of times in ns by id."""

    def __init__(self, folder=None):
        """In a folder, or at a port."""
        self.listener = socket.socket(socket.AF_UNIX if folder else socket.AF_INET)
        if folder:
            path = tempfile.mktemp(prefix="receiver.", dir=folder)
            self.listener.bind(path)
            self.address = f"unix:{path}"
        else:
            self.listener.bind(("127.0.0.1", 0))
            self.port = self.listener.getsockname()[1]
            self.address = f"127.0.0.1:{self.port}"
        self.came = {}
        self.answered = 0
        self.due = {}
        self.lock = threading.Lock()
        self.answer = threading.Event()
        self.answer.set()
        if folder:
            self.listen()

    def listen(self):
        """Be there. At a port that is done later."""
        self.listener.listen(64)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        while True:
            connection = self.listener.accept()[0]
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        rest = b""
        with contextlib.suppress(OSError):
            while data := connection.recv(1 << 20):
                lines = (rest + data).split(b"\n")
                rest = lines.pop()
                now = time.time_ns()
                with self.lock:
                    for line in lines:
                        number, due, _ = line.split(b" ", 2)
                        self.came.setdefault(int(number), []).append(now)
                        self.due[int(number)] = int(due)
                self.answer.wait()
                connection.sendall(b"".join(line.split(b" ", 1)[0] + b"\n" for line in lines))
                self.answered += len(lines)

    def lateness(self):
        """How late each came for the first time, in ns, sorted."""
        with self.lock:
            return sorted(times[0] - self.due[number] for number, times in self.came.items())


class Node:
    """A node of the service."""

    def __init__(self, base, *options, program=REMINDER, **how):
        self.process = subprocess.Popen([program, *options, base.where, "run"],
                                        stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, "TWHEEL_BACKEND": "embedded"},
                                        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                                           **how})
        self.pid = self.process.pid

    def signal(self, number):
        """Send it a signal."""
        self.process.send_signal(number)

    def takes(self, number):
        """Send it a signal, and wait until it has come: another one is not one with it then."""
        self.signal(number)
        mask = 1 << (number - 1)
        await_true("a signal to come", lambda: not any(
            int(line.split()[1], 16) & mask
            for line in Path(f"/proc/{self.pid}/status").read_text(encoding="ascii").splitlines()
            if line.startswith(("SigPnd:", "ShdPnd:"))), 0.01)

    def stop(self):
        """Have it end; return its exit status and what it has said."""
        self.signal(signal.SIGTERM)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out + err

    def kill(self):
        """Kill it, whatever it does."""
        self.signal(signal.SIGKILL)
        self.process.communicate()


def reminder(*arguments, **options):
    """Run the program; return its exit status and what it has said."""
    done = subprocess.run([REMINDER, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False,
                          env={**os.environ, "TWHEEL_BACKEND": "embedded"},
                          **{"stdin": subprocess.DEVNULL, **options})
    return done.returncode, done.stdout
