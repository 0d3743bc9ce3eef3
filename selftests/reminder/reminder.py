#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Is no reminder lost, and none done twice, whatever happens to nodes and to the database? (TAP)

On wheels in the process. PostgreSQL's part is skipped where there is no server: setup.sh installs
what it takes as database.
"""

import contextlib
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from world import (CLAIMED, DONE, PATIENCE, REMINDER, Node, Postgres, Receiver, Sqlite, await_true,
                   comes_true, reminder, server_programs)

SEC = 10**9
# What nodes are told, so that claims end soon
QUICK = ("--lease", "1s", "--horizon", "4s", "--poll", "200ms", "--batch", "100")
COUNT = 4000
SPREAD = 8 * SEC

tests = failures = 0


def check(name, good, *why):
    """A test."""
    global tests, failures
    tests += 1
    failures += not good
    if not good:
        print(*(f"# {line}" for text in why for line in str(text).splitlines()), sep="\n")
    print("ok" if good else "not ok", tests, name, flush=True)


def skip(name, reason):
    """A test that cannot be run."""
    global tests
    tests += 1
    print("ok", tests, name, "# SKIP", reason, flush=True)


def owned(base, node, state=CLAIMED):
    """The ids that a node has claimed."""
    return {int(row[0]) for row in base.sql(f"SELECT id FROM reminders WHERE state = {state} AND "
                                            f"owner LIKE '%:{node.pid}:%'")}


def all_done(base):
    """Has each reminder come to be done?"""
    return not base.sql("SELECT id FROM reminders WHERE state <> 2 LIMIT 1")


def taken_over(base, ids):
    """Are all of these done, and has somebody else had some of them?"""
    text = ",".join(map(str, ids))
    rows = base.sql(f"SELECT state, max(fence) FROM reminders WHERE id IN ({text}) GROUP BY state")
    return len(rows) == 1 and int(rows[0][0]) == DONE and int(rows[0][1]) > 1


def claims_of(base, node):
    """Wait for claims of a node on what is not due yet."""
    base.fill(300, time.time_ns() + 2 * SEC, SEC // 100)
    await_true("claims", lambda: owned(base, node))
    return owned(base, node)


def stop_between_transactions(base, node):
    """Stop a node that has claims, where that holds up nobody. Return what it has claimed."""
    while True:
        claims_of(base, node)
        node.signal(signal.SIGSTOP)
        if base.between_transactions() and (claimed := owned(base, node)):
            return claimed
        node.signal(signal.SIGCONT)


def kill_with_claims(base, nodes, options):
    """Kill a node that has claims, and start another one. Return what it has left behind."""
    while True:
        claims_of(base, nodes[-1])
        nodes[-1].kill()
        orphans = owned(base, nodes[-1])
        nodes[-1] = Node(base, *options)
        if orphans:
            return orphans


def disaster(base):
    """Three nodes; one is killed, one sleeps longer than its claims, the server crashes."""
    name = base.name
    receiver = Receiver(base.scratch)
    options = ("--address", receiver.address, *QUICK)
    reminder(base.where, "list")
    base.count_ends()
    base.fill(COUNT, time.time_ns() + 2 * SEC, SPREAD // COUNT)
    nodes = [Node(base, *options) for _ in range(3)]
    await_true("the first reminders", lambda: len(receiver.came) > COUNT // 10)

    orphans = kill_with_claims(base, nodes, options)
    slept = stop_between_transactions(base, nodes[0])
    await_true("others to give what a stopped node has claimed",
               lambda: taken_over(base, slept))
    nodes[0].signal(signal.SIGCONT)
    await_true("others to give what a killed node had claimed",
               lambda: taken_over(base, orphans))
    check(f"{name}: others give what was claimed by nodes that were killed and stopped", True)

    if hasattr(base, "crash"):
        base.fill(COUNT // 4, time.time_ns(), SPREAD // COUNT)
        base.crash()
    await_true("all to be done", lambda: all_done(base), 0.2)
    said = [node.stop() for node in nodes]
    check(f"{name}: nodes that are told to stop do", all(status == 0 for status, _ in said), said)

    ids = {int(row[0]) for row in base.sql("SELECT id FROM reminders")}
    ends = [int(row[0]) for row in base.sql("SELECT id FROM ends")]
    check(f"{name}: none is lost: each reminder came to be done", set(ends) == ids,
          f"{len(ids)} reminders, {len(set(ends))} done")
    check(f"{name}: and none twice", len(ends) == len(set(ends)), len(ends), len(set(ends)))
    check(f"{name}: the receiver got each", set(receiver.came) == ids,
          f"{len(receiver.came)} of {len(ids)}")
    early = min(receiver.lateness())
    check(f"{name}: and none early", early >= 0, early)
    repeats = sum(len(times) - 1 for times in receiver.came.values())
    print(f"# {name}: {len(ids)} reminders, {len(orphans)} orphans, {len(slept)} slept through, "
          f"{repeats} given more than once")
    for _, text in said:
        print("#", *text.splitlines(), sep="\n# ")


def fence(base):
    """An answer that comes when the claim has ended and somebody else was at it."""
    slow, quick = Receiver(base.scratch), Receiver(base.scratch)
    slow.answer.clear()
    base.fill(1, time.time_ns(), 1)
    node = Node(base, "--address", slow.address, *QUICK, "--lease", "3s")
    await_true("the first node to give it", lambda: slow.came)
    node.signal(signal.SIGSTOP)
    # Where it was stopped in the midst of a transaction nothing goes on, and it is tried again.
    while not base.between_transactions():
        node.signal(signal.SIGCONT)
        time.sleep(0.01)
        node.signal(signal.SIGSTOP)
    slow.answer.set()
    await_true("the answer, which the first node does not read yet", lambda: slow.answered)
    other = Node(base, "--address", quick.address, *QUICK, "--lease", "3s")
    await_true("the second node to have it done", lambda: all_done(base))
    status2, text2 = other.stop()
    node.signal(signal.SIGCONT)
    # When another one is done the first node has read the answer to the first one.
    base.fill(1, time.time_ns(), 1)
    await_true("another one", lambda: all_done(base))
    status, text = node.stop()
    check(f"{base.name}: what is done under a claim that has ended does not count",
          "done 1, done by others 1" in text and status == 0, text)
    check(f"{base.name}: but what is done under the next one",
          "done 1, done by others 0" in text2 and status2 == 0, text2)
    check(f"{base.name}: both receivers got the same id", set(quick.came) < set(slow.came),
          slow.came, quick.came)


def commands(base):
    """A command that fails the first time."""
    out = tempfile.mktemp(dir=base.scratch)
    command = f'echo "$REMINDER_ID $REMINDER_ATTEMPT $REMINDER_PAYLOAD" >>{out}; ' \
              f'[ "$REMINDER_ATTEMPT" -gt 1 ]'
    status, text = reminder(base.where, "add", "100ms", "a  payload")
    check(f"{base.name}: a reminder is added", status == 0, text)
    number = base.sql("SELECT max(id) FROM reminders")[0][0]
    node = Node(base, "--command", command, *QUICK)
    await_true("the command", lambda: all_done(base))
    node.stop()
    with open(out, encoding="ascii") as file:
        lines = file.read().splitlines()
    check(f"{base.name}: a command that fails is run again, until it takes the reminder",
          lines == [f"{number} {attempt} a  payload" for attempt in (1, 2)], lines)


def ignored(base):
    """Whoever has started a node may ignore signals, and a program inherits that."""
    reminder(base.where, "add", "0s", "once more")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    node = Node(base, "--command", '[ "$REMINDER_ATTEMPT" -gt 1 ]', *QUICK, "--lease", "3s")
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    check(f"{base.name}: a command ends also where SIGCHLD is ignored",
          comes_true(lambda: base.sql("SELECT state, fence FROM reminders") == [("2", "2")], 20),
          base.sql("SELECT state, fence FROM reminders"))
    node.signal(signal.SIGINT)
    reminder(base.where, "add", "0s", "after the signal")
    check(f"{base.name}: a SIGINT that is ignored ends no node",
          comes_true(lambda: all_done(base), 20), base.sql("SELECT state FROM reminders"))
    node.kill()


def terminal(base):
    """What a terminal does to a node, it does not do to the commands."""
    out = tempfile.mktemp(dir=base.scratch)
    reminder(base.where, "add", "0s", "begun")
    node = Node(base, "--command", f"cat; echo begun >>{out}; sleep 2; echo ended >>{out}",
                *QUICK, stdin=subprocess.PIPE, start_new_session=True)
    check(f"{base.name}: a command does not read what is the node's",
          comes_true(lambda: os.path.exists(out), 20))
    os.killpg(node.pid, signal.SIGINT)
    said = node.process.communicate(timeout=60)
    with contextlib.suppress(FileNotFoundError), open(out, encoding="ascii") as file:
        said += (file.read(),)
    check(f"{base.name}: Ctrl-C does not end a command that is waited for",
          said[2:] == ("begun\nended\n",) and "given 1, done 1," in said[0], said)


def lines_and_lists(base):
    """What is added is listed; a node that stops gives up its claims."""
    status, text = reminder(base.where, "add", stdin=None, input="@9000000000000000000 far\n"
                            "@9000000000000000001 a|b\\n c\n")
    check(f"{base.name}: lines are added", status == 0, text)
    check(f"{base.name}: and listed", re.search(
        r"^\d+ 9000000000000000000 0 0 far\n\d+ 9000000000000000001 0 0 a\|b\\\\n c\n\Z",
        reminder(base.where, "list")[1], re.M), reminder(base.where, "list"))
    base.sql("DELETE FROM reminders")
    reminder(base.where, "add", "@9000000000000000000", "a\n99 5 2 1 forged")
    said = reminder(base.where, "list")[1]
    check(f"{base.name}: a reminder is one line of the list, whatever its payload is",
          said.count("\n") == 1 and said.endswith(" 0 0 a\\n99 5 2 1 forged\n"), said)
    base.sql("DELETE FROM reminders")
    said = reminder(base.where, "add", stdin=None, input="1h far\n" * 1500 + "wrong\n")
    check(f"{base.name}: of lines all are added or none",
          said == (2, "reminder: line 1501 is not WHEN PAYLOAD\n") and
          base.sql("SELECT count(*) FROM reminders") == [("0",)], said,
          base.sql("SELECT count(*) FROM reminders"))
    said = reminder(base.where, "add", stdin=None, input="1h far\n1h he\0llo\n")
    check(f"{base.name}: a zero byte in a line is refused",
          said == (2, "reminder: line 2 has a zero byte\n") and
          base.sql("SELECT count(*) FROM reminders") == [("0",)], said)
    unreadable = os.open(base.scratch, os.O_RDONLY)
    said = reminder(base.where, "add", stdin=unreadable)
    os.close(unreadable)
    check(f"{base.name}: lines that cannot be read are an error",
          said == (1, "reminder: standard input: Is a directory: nothing was added\n"), said)
    base.fill(10, time.time_ns() + 3600 * SEC, 1)
    node = Node(base, "--address", Receiver(base.scratch).address, "--horizon", "2h")
    await_true("claims", lambda: len(owned(base, node)) == 10)
    node.stop()
    check(f"{base.name}: a node that stops gives up what it has claimed",
          base.sql("SELECT count(*) FROM reminders WHERE state = 0") == [("10",)])
    check(f"{base.name}: which counts as no attempt",
          base.sql("SELECT DISTINCT attempts FROM reminders") == [("0",)])


def full_output(base):
    """What cannot be written is an error."""
    reminder(base.where, "add", "1m", "near enough to be claimed")
    why = "reminder: standard output: No space left on device\n"
    with open("/dev/full", "w", encoding="ascii") as out:
        done = subprocess.run([REMINDER, base.where, "list"], stdout=out, stderr=subprocess.PIPE,
                              text=True, check=False)
        node = Node(base, "--command", "true", stdout=out)
    check(f"{base.name}: a list that cannot be written is an error",
          (done.returncode, done.stderr) == (1, why), done)
    await_true("claims", lambda: owned(base, node))
    node.signal(signal.SIGTERM)
    said = node.process.communicate()[1]
    check(f"{base.name}: so is the report of a node", (node.process.returncode, said) == (1, why),
          node.process.returncode, said)


def moved(base):
    """A node whose database is elsewhere would wait in vain for what is added."""
    node = Node(base, "--command", "true", *QUICK)
    reminder(base.where, "add", "0s", "first")
    await_true("the first", lambda: all_done(base))
    os.rename(base.where, base.where + ".old")
    try:
        said = node.process.communicate(timeout=20)[1]
    except subprocess.TimeoutExpired:
        said = "it goes on"
    os.rename(base.where + ".old", base.where)
    check(f"{base.name}: a node ends whose file is moved", node.process.returncode == 1 and
          re.match("reminder: SQLite: .*/reminders was moved or removed: ", said), said)
    node.kill()


def answers(base):
    """A receiver that answers something else is not believed."""
    receiver = Receiver(base.scratch)
    base.fill(1, time.time_ns(), 1)
    receiver.answer.clear()
    node = Node(base, "--address", receiver.address, *QUICK)
    await_true("a second attempt, when the first one had no answer",
               lambda: any(len(times) > 1 for times in receiver.came.values()))
    check(f"{base.name}: without an answer a reminder is not done",
          base.sql("SELECT count(*) FROM reminders WHERE state = 2") == [("0",)])
    receiver.answer.set()
    await_true("the answer", lambda: all_done(base))
    node.stop()


def silent(base):
    """A node whose receiver answers nothing leaves nearly all to others."""
    receiver = Receiver(base.scratch)
    receiver.answer.clear()
    base.fill(5, time.time_ns(), 1)
    node = Node(base, "--address", receiver.address, *QUICK)

    def attempts():
        return sum(map(len, receiver.came.values()))

    await_true("a second connection", lambda: attempts() > 5)
    base.fill(50, time.time_ns(), 1)
    so_far = attempts()
    await_true("three attempts", lambda: attempts() >= so_far + 3)
    claimed = int(base.sql("SELECT count(*) FROM reminders WHERE id > (SELECT min(id) + 4 FROM "
                           "reminders) AND fence > 0")[0][0])
    check(f"{base.name}: a node whose receiver answers nothing claims one at a time", claimed < 25,
          claimed)
    receiver.answer.set()
    check(f"{base.name}: until it answers", comes_true(lambda: all_done(base), 60))
    node.stop()


def names(base):
    """A receiver that is at the second address of its name."""
    receiver = Receiver()
    receiver.listen()
    hosts = Path(base.scratch) / "hosts"
    hosts.write_text("::1 receiver.test\n127.0.0.1 receiver.test\n", encoding="ascii")
    unshare = ["-m"] if os.getuid() == 0 else ["-rm"]
    mount = ["sh", "-c", f'mount --bind {hosts} /etc/hosts && exec "$@"', "sh"]
    what = f"{base.name}: each address of a name is tried"
    if subprocess.run(["unshare", *unshare, *mount, "true"], check=False).returncode:
        skip(what, "no namespace of its own for /etc/hosts")
        return
    base.fill(1, time.time_ns(), 1)
    node = Node(base, *unshare, *mount, REMINDER, "--address", f"receiver.test:{receiver.port}",
                "--poll", "200ms", program="unshare")
    good = comes_true(lambda: all_done(base), 20)
    said = node.stop()
    check(what, good, said)
    check(f"{base.name}: which is nothing to complain of",
          said[1].startswith("given 1,") and "reminder: " not in said[1], said)
    base.sql("DELETE FROM reminders")

    # One that moves
    base.fill(1, time.time_ns(), 1)
    hosts.write_text("127.0.0.2 receiver.test\n", encoding="ascii")
    node = Node(base, *unshare, *mount, REMINDER, "--address", f"receiver.test:{receiver.port}",
                "--poll", "200ms", program="unshare")
    said = node.process.stderr.readline()
    hosts.write_text("127.0.0.1 receiver.test\n", encoding="ascii")
    good = comes_true(lambda: all_done(base), 20)
    check(f"{base.name}: a name that has got another address is looked up again",
          good and "Connection refused" in said, said, node.stop())
    base.sql("DELETE FROM reminders")
    stop_at_a_look_up(base, hosts, unshare)


def stop_at_a_look_up(base, hosts, unshare):
    """A node stops although the name server does not answer."""
    what = f"{base.name}: a node that looks up a name can be stopped"
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.settimeout(20)
    try:
        server.bind(("127.0.0.1", 53))
    except OSError as error:
        skip(what, f"no name server of its own: {error}")
        return
    config = Path(base.scratch) / "resolv.conf"
    config.write_text("nameserver 127.0.0.1\noptions timeout:30 attempts:3\n", encoding="ascii")
    mount = ["sh", "-c", f'mount --bind {hosts} /etc/hosts && '
             f'mount --bind {config} "$(realpath /etc/resolv.conf)" && exec "$@"', "sh"]
    hosts.write_text("127.0.0.2 receiver.test\n", encoding="ascii")
    node = Node(base, *unshare, *mount, REMINDER, "--address", "receiver.test:9",
                "--poll", "200ms", program="unshare")
    refused = node.process.stderr.readline()
    hosts.write_text("", encoding="ascii")
    end, asked = time.monotonic() + 3, []
    while time.monotonic() < end:
        asked.append(server.recvfrom(512))
        # There is no such name.
        server.sendto(asked[-1][0][:2] + b"\x81\x83" + asked[-1][0][4:], asked[-1][1])
    times = sum(b"\x08receiver\x04test\0\0\x01" in question for question, _ in asked)
    check(f"{base.name}: a name is not looked up at each attempt", 0 < times < 5, asked)
    asked = server.recv(512)
    node.signal(signal.SIGTERM)
    try:
        status = node.process.wait(20)
    except subprocess.TimeoutExpired as error:
        status = error
        node.process.kill()
    check(what, b"receiver" in asked and status == 0, refused, asked, status)
    server.close()


def brackets(base):
    """A receiver at a numeric address of IPv6."""
    listener = socket.socket(socket.AF_INET6)
    try:
        listener.bind(("::1", 0))
    except OSError:
        skip(f"{base.name}: a numeric address of IPv6", "there is none here")
        return
    listener.listen()
    listener.settimeout(20)
    base.fill(1, time.time_ns(), 1)
    node = Node(base, "--address", f"[::1]:{listener.getsockname()[1]}")
    line = b""
    with contextlib.suppress(OSError):
        connection = listener.accept()[0]
        line = connection.recv(100)
        connection.sendall(line.split(b" ")[0] + b"\n")
        connection.settimeout(20)
        await_true("the reminder", lambda: base.sql("SELECT state FROM reminders") == [("2",)])
    check(f"{base.name}: a numeric address of IPv6 is given in brackets", line, node.stop())


def absent(base):
    """What nobody got was not given."""
    receiver = Receiver()
    base.fill(1, time.time_ns(), 1)
    node = Node(base, "--address", receiver.address, "--lease", "1h", "--poll", "200ms")
    said = node.process.stderr.readline()
    check(f"{base.name}: a receiver that is not there is told",
          said == f"reminder: {receiver.address}: Connection refused\n", said)
    time.sleep(1)
    claimed = base.sql("SELECT fence FROM reminders")
    check(f"{base.name}: a node without a receiver claims nothing", claimed == [("0",)], claimed)
    receiver.listen()
    await_true("the reminder", lambda: all_done(base))
    said = node.stop()
    check(f"{base.name}: only what was sent is counted as given", "given 1, done 1," in said[1],
          said)


def news(base):
    """What is added while a node has a statement carried out is told with the answer."""
    base.sql("CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM "
             "pg_sleep(2); RETURN NULL; END'; CREATE TRIGGER slow AFTER UPDATE ON reminders FOR "
             "EACH ROW WHEN (NEW.payload = 'slow' AND NEW.state = 1) EXECUTE FUNCTION slow();")
    reminder(base.where, "add", "0s", "slow")
    node = Node(base, "--command", "true", "--poll", "1h")
    await_true("a claim under way", lambda: base.sql("SELECT 1 FROM pg_stat_activity WHERE "
                                                     "wait_event = 'PgSleep'"), 0.01)
    reminder(base.where, "add", "0s", "meanwhile")
    check(f"{base.name}: nodes learn of what is added while they claim",
          comes_true(lambda: all_done(base), 20))
    node.stop()
    base.sql("DROP TRIGGER slow ON reminders; DROP FUNCTION slow")


def restart_while_stopping(base):
    """A server that is restarted while a node waits for its commands."""
    for away, why in ((False, "is restarted before a command ends"),
                      (True, "is away when a command ends")):
        begun, end = (Path(tempfile.mktemp(dir=base.scratch)) for _ in range(2))
        reminder(base.where, "add", "0s", "under way")
        node = Node(base, "--command", f"touch {begun}; until [ -e {end} ]; do sleep 0.1; done",
                    "--lease", "1h")
        await_true("the command", begun.exists)
        node.signal(signal.SIGTERM)
        time.sleep(0.5)
        base.halt()
        if away:
            end.touch()
            time.sleep(1)
        base.start()
        if not away:
            check(f"{base.name}: a node that is told to stop connects again",
                  comes_true(lambda: base.sql("SELECT 1 FROM pg_stat_activity WHERE "
                                              "query LIKE '%reminders%' AND "
                                              "pid <> pg_backend_pid() AND "
                                              "backend_type = 'client backend'"), 20))
            end.touch()
        out, err = node.process.communicate(timeout=PATIENCE)
        check(f"{base.name}: what was taken while a node stops is marked, if the server {why}",
              node.process.returncode == 0 and "given 1, done 1," in out and
              base.sql("SELECT state FROM reminders") == [("2",)], out, err)
        base.sql("DELETE FROM reminders")


def without_waiting(base):
    """Who opens a table that is there changes nothing about it, and so waits for nobody."""
    with base.transaction("INSERT INTO reminders (due, payload) VALUES (0, 'not committed')"):
        try:
            said = reminder(base.where, "list", timeout=20)
        except subprocess.TimeoutExpired:
            said = "it waits"
    check(f"{base.name}: a transaction that has added something holds up nobody",
          said == (0, ""), said)
    base.sql("CREATE ROLE stranger LOGIN; GRANT SELECT, INSERT, UPDATE ON reminders TO stranger;")
    said = reminder(base.where.replace("tester", "stranger"), "add", "1h", "by somebody else")
    check(f"{base.name}: a role that does not own the table may use it", said == (0, ""), said)


def long_commands(base):
    """A command that takes longer than the lease is run once."""
    out = tempfile.mktemp(dir=base.scratch)
    reminder(base.where, "add", "0s", "long")
    nodes = [Node(base, "--command", f"echo begun >>{out}; sleep 8; echo ended >>{out}", *QUICK,
                  "--lease", "3s") for _ in range(2)]
    good = comes_true(lambda: all_done(base), 60)
    said = [node.stop() for node in nodes]
    with open(out, encoding="ascii") as file:
        ran = file.read().split()
    check(f"{base.name}: a command that takes longer than the lease is run once, and done",
          good and ran == ["begun", "ended"], ran, said,
          base.sql("SELECT state, fence FROM reminders"))


def unable(base):
    """A node whose commands hang leaves to others what they can give."""
    end = Path(tempfile.mktemp(dir=base.scratch))
    base.fill(100, time.time_ns() + 3 * SEC, 1)
    # When two thirds of the lease are over it gives back: the rest is for a busy machine.
    stuck = Node(base, "--command", f"until [ -e {end} ]; do sleep 0.1; done", "-j1", *QUICK,
                 "--lease", "9s")
    await_true("claims", lambda: len(owned(base, stuck)) == 100)
    out = Path(tempfile.mktemp(dir=base.scratch))
    other = Node(base, "--command", f"echo $REMINDER_ATTEMPT >>{out}", *QUICK, "--lease", "3s")
    check(f"{base.name}: what a node cannot give, as its commands hang, others give",
          comes_true(lambda: len(owned(base, other, DONE)) == 99, 60),
          base.sql("SELECT state, owner, max(fence), count(*) FROM reminders GROUP BY 1, 2"))
    other.stop()
    attempts = out.read_text(encoding="ascii").split()
    check(f"{base.name}: for the first time, as they are told", attempts == ["1"] * 99, attempts)
    base.fill(1, time.time_ns(), 1)
    time.sleep(1)
    claimed = base.sql("SELECT max(fence) FROM reminders WHERE state = 0")
    check(f"{base.name}: and such a node claims nothing", claimed == [("0",)], claimed)
    end.touch()
    check(f"{base.name}: until it can give again", comes_true(lambda: all_done(base), 60))
    stuck.stop()


def stopping(base):
    """A node that is told to stop waits for what is under way, and gives others the rest."""
    out = tempfile.mktemp(dir=base.scratch)
    for payload in ("under way", "waits"):
        reminder(base.where, "add", "0s", payload)
    options = ("--command", f'echo "$REMINDER_PAYLOAD $REMINDER_ATTEMPT" >>{out}; sleep 10', "-j1",
               "--lease", "1h", "--poll", "200ms")
    node = Node(base, *options)
    await_true("the command", lambda: os.path.exists(out))
    await_true("the other claim", lambda: len(owned(base, node)) == 2)
    node.signal(signal.SIGTERM)
    left = comes_true(lambda: base.sql("SELECT id FROM reminders WHERE state = 0"), 8)
    check(f"{base.name}: a node that is told to stop gives up what it has not given",
          left and len(owned(base, node)) == 1, base.sql("SELECT id, state FROM reminders"))
    out_text, err = node.process.communicate(timeout=60)
    check(f"{base.name}: and ends when the command that runs is done",
          "given 1, done 1," in out_text, out_text, err)
    node = Node(base, *options)
    await_true("the other command", lambda: len(owned(base, node)) == 1)
    await_true("the other command", lambda: "waits" in Path(out).read_text(encoding="ascii"))
    node.takes(signal.SIGTERM)
    status, text = node.stop()
    check(f"{base.name}: a second signal ends a node at once", status == 0 and
          "given 1, done 0," in text, status, text)
    check(f"{base.name}: what was under way stays claimed", len(owned(base, node)) == 1)
    base.sql("DELETE FROM reminders")
    receiver = Receiver(base.scratch)
    receiver.answer.clear()
    base.fill(1, time.time_ns(), 1)
    node = Node(base, "--address", receiver.address, *QUICK[2:])
    await_true("a line", lambda: receiver.came)
    node.signal(signal.SIGTERM)
    time.sleep(0.5)
    receiver.answer.set()
    out_text, err = node.process.communicate(timeout=60)
    check(f"{base.name}: an answer is waited for", "given 1, done 1," in out_text, out_text, err)


def failing(base):
    """What was given in vain counts as an attempt, also when the node stops."""
    out = Path(tempfile.mktemp(dir=base.scratch))
    for _ in range(2):
        reminder(base.where, "add", "0s", "in vain")
    node = Node(base, "--command", f"echo >>{out}; false", "--lease", "1h", "-j1")
    await_true("both commands", lambda: out.exists() and out.stat().st_size == 2)
    time.sleep(0.5)
    node.stop()
    rows = base.sql("SELECT attempts, state FROM reminders")
    check(f"{base.name}: what was given in vain counts as an attempt", rows == [("1", "1")] * 2,
          rows)


def broken(base):
    """A node whose commands fail lets others try before it does again."""
    base.fill(20, time.time_ns() + 2 * SEC, SEC // 20)
    options = ("--lease", "3s", "--poll", "1s")
    node = Node(base, "--command", "false", *options)
    await_true("claims", lambda: len(owned(base, node)) == 20)
    other = Node(base, "--command", "true", *options)
    await_true("all to be done", lambda: all_done(base))
    fences = base.sql("SELECT DISTINCT fence FROM reminders")
    check(f"{base.name}: when a node has tried in vain others are the next", fences == [("2",)],
          fences)
    node.stop()
    other.stop()


def second_signal(base):
    """A second signal ends a node whose database does not answer."""
    reminder(base.where, "add", "0s", "as always")
    node = Node(base, "--command", "true", "--poll", "200ms")
    await_true("the command", lambda: all_done(base))
    with base.lock():
        node.takes(signal.SIGTERM)
        node.signal(signal.SIGTERM)
        try:
            said = node.process.communicate(timeout=20)[1]
        except subprocess.TimeoutExpired:
            said = "it waits"
    check(f"{base.name}: a second signal ends a node whose database does not answer",
          said == "reminder: the database does not answer: what it was not told comes again\n" and
          node.process.returncode == 1, said, node.process.returncode)
    node.kill()


def full(base):
    """A node that holds what is due later has room for what is due now."""
    base.fill(100, time.time_ns() + 3600 * SEC, 1)
    node = Node(base, "--command", "true", "--horizon", "2h", "--most", "16", "--batch", "4",
                "--poll", "200ms")
    await_true("claims", lambda: len(owned(base, node)) >= 12)
    time.sleep(1)
    for _ in range(3):
        reminder(base.where, "add", "0s", "now")
    check(f"{base.name}: a node that is full of what is due later gives what is due now",
          comes_true(lambda: base.sql("SELECT count(*) FROM reminders WHERE state = 2") ==
                     [("3",)], 20), len(owned(base, node)))
    check(f"{base.name}: and does not hold more than it may", len(owned(base, node)) == 12,
          len(owned(base, node)))
    node.stop()


def no_processes(base):
    """A command that cannot be started is started when it can be."""
    program, how = REMINDER, {}
    if os.getuid() == 0:
        # The limit is for ordinary users.
        program = shutil.copy(REMINDER, base.scratch)
        how = {"user": "nobody", "group": "nogroup", "extra_groups": []}
        for path in (Path(base.where).parent, *Path(base.where).parent.iterdir()):
            shutil.chown(path, "nobody")
    node = Node(base, "--command", "true", "--lease", "1h", "--poll", "200ms", program=program,
                **how)

    def limit(most):
        subprocess.run(["prlimit", "--pid", str(node.pid), f"--nproc={most}:"], check=True, **how)

    reminder(base.where, "add", "0s", "as always")
    await_true("the command", lambda: all_done(base))
    limit(0)
    reminder(base.where, "add", "0s", "no process")
    said = node.process.stderr.readline()
    limit(resource.getrlimit(resource.RLIMIT_NPROC)[0])
    check(f"{base.name}: a command that cannot be started is tried again soon",
          said.startswith("reminder: fork: ") and comes_true(
              lambda: base.sql("SELECT state, fence FROM reminders") == [("2", "1")] * 2, 20),
          said, base.sql("SELECT state, fence FROM reminders"))
    node.stop()


def payloads(base):
    """What is added can be given."""
    said = reminder(base.where, "add", "0s", "\\" * 32001)
    check(f"{base.name}: a payload that is too long is refused",
          said == (2, "reminder: a payload of 32001 bytes: 32000 at most\n"), said[0])
    check(f"{base.name}: also by the table", base.refuses(
        f"INSERT INTO reminders (due, payload) VALUES (0, '{'ä' * 16001}')"))
    for row in ("-1, 'x'", "'2026-11-28 20:00:00', 'x'", "9e999, 'x'", "0, 'a' || char(0)"):
        check(f"{base.name}: so is what would not be given as it is: {row}",
              base.refuses(f"INSERT INTO reminders (due, payload) VALUES ({row})"))
    base.sql("INSERT INTO reminders (due, payload) VALUES ('5', 'a text that is a number');; "
             "DELETE FROM reminders")
    receiver = Receiver(base.scratch)
    reminder(base.where, "add", "0s", "\\" * 32000)
    for options in (("--address", receiver.address), ("--command", "true")):
        base.sql("UPDATE reminders SET state = 0")
        node = Node(base, *options, *QUICK)
        check(f"{base.name}: the longest one can be given: {options[0]}",
              comes_true(lambda: base.sql("SELECT state FROM reminders") == [("2",)], 20))
        node.stop()


def why_not(base):
    """It is said why a command cannot be run: for a payload of a table without the limit."""
    base.sql("PRAGMA ignore_check_constraints = 1;; INSERT INTO reminders (due, payload) "
             f"VALUES (0, '{'x' * 200000}')")
    node = Node(base, "--command", "true", *QUICK)
    await_true("a second attempt", lambda: base.sql("SELECT fence FROM reminders")[0][0] == "2")
    said = node.stop()
    check(f"{base.name}: it is said why a command cannot be run",
          re.search(r"^reminder: reminder \d+: /bin/sh: Argument list too long$", said[1], re.M),
          said)


def own_ids(base):
    """A program may have given a row any id."""
    ids = [-2**63, -1, 0, 2**62]
    for row in ids:
        base.sql(f"INSERT INTO reminders (id, due, payload) VALUES ({row}, 0, 'own')")
    receiver = Receiver(base.scratch)
    node = Node(base, "--address", receiver.address, *QUICK)
    check(f"{base.name}: rows with ids of all kinds come to be done",
          comes_true(lambda: all_done(base), 20),
          base.sql("SELECT id, state, fence FROM reminders"))
    said = node.stop()
    check(f"{base.name}: with these ids", set(receiver.came) == set(ids), receiver.came, said)
    out = tempfile.mktemp(dir=base.scratch)
    base.sql("UPDATE reminders SET state = 0 WHERE id = -1")
    node = Node(base, "--command", f'echo "$REMINDER_ID" >>{out}', *QUICK)
    await_true("the command", lambda: all_done(base))
    node.stop()
    with open(out, encoding="ascii") as file:
        check(f"{base.name}: also for commands", file.read() == "-1\n")


def wrong_usage(folder):
    """Errors are one line."""
    base = f"{folder}/usage"
    for want, message, arguments in (
            (2, "which database, and run, add or list?", [base]),
            (2, "'walk' with 0 arguments", [base, "walk"]),
            (2, "run needs one of --address and --command", [base, "run"]),
            (2, "run needs one of", ["-a", "unix:x", "-c", "true", base, "run"]),
            (2, "'here' is not unix:PATH or HOST:PORT", ["-a", "here", base, "run"]),
            (2, "'88999' is not a port from 1 to 65535", ["-a", "127.0.0.1:88999", base, "run"]),
            (2, "'' is not a port", ["-a", "127.0.0.1:", base, "run"]),
            (2, "'' is not a file", ["", "add", "1h", "x"]),
            (2, "':memory:' is not a file", [":memory:", "list"]),
            (2, "'' is not a file", ["-c", "true", "", "run"]),
            (2, "'soon' is no duration", [base, "add", "soon", "x"]),
            (2, "line 1 is not WHEN PAYLOAD", [base, "add"]),
            (2, "more than --most", ["-m", "5", "-a", "unix:x", base, "run"]),
            (1, "unable to open database file", [f"{folder}/no/such", "list"]),
            (1, "PostgreSQL", [f"postgresql://x@/x?host={folder}", "list"])):
        if "PostgreSQL" in message and server_programs() is None:
            continue
        status, text = reminder(*arguments, stdin=None, input="now\n", timeout=60)
        check(f"{message}: exit status {want}", status == want and text.count("\n") == 1 and
              re.match(f"reminder: .*{re.escape(message)}", text), status, text)


# Of each kind of database, and what differs by it or needs only one. Each begins without reminders.
COMMON = (disaster, fence, commands, answers, silent, lines_and_lists, own_ids, long_commands,
          unable, stopping, failing, broken, second_signal, full, payloads)
OF_ONE = {Sqlite: (full_output, ignored, terminal, names, brackets, absent, no_processes, why_not,
                   moved),
          Postgres: (without_waiting, news, restart_while_stopping)}


def main():
    """All tests."""
    print("TAP version 13")
    if not os.access(REMINDER, os.X_OK):
        print("1..0 # SKIP no", REMINDER, "(Debian: libsqlite3-dev libpq-dev)")
        return 4
    folder = tempfile.mkdtemp(prefix="reminder.")
    os.chmod(folder, 0o755)
    kinds = [Sqlite]
    if server_programs():
        kinds.append(Postgres)
    else:
        print("# no PostgreSQL server here (Debian: postgresql): its part is skipped")
    try:
        wrong_usage(folder)
        for kind in kinds:
            base = kind(folder)
            try:
                for test in (*COMMON, *OF_ONE[kind]):
                    test(base)
                    base.sql("DELETE FROM reminders")
            finally:
                base.close()
    except Exception:  # pylint: disable=broad-except
        print("#", traceback.format_exc().replace("\n", "\n# "))
        check("the tests came to their end", False)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"1..{tests}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
