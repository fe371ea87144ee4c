# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One direction of the probe; a script of its own, that runs in the network namespace of one of its ends.

    probe_packets.py answer ADDRESS        echo what comes, by UDP and by TCP, until standard input ends
    probe_packets.py ask ADDRESS INTERVAL  ask until standard input ends, then print the result as JSON

What asks sends numbered packets by UDP at a steady pace, whatever comes back, and a byte by TCP again and again on one
connection. It prints ``ready`` when a second's packets came back in a row and the connection was made.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time

UDP, TCP = 7007, 7008
#: How long a packet may take before it counts as lost, at the end; in between a late answer is an answer.
PATIENCE = 1.0
#: A TCP connection that gets no answer for so long is given up: it is dead.
DEAD = 30.0


def echo(connection):
    try:
        while True:
            got = connection.recv(4096)
            if not got:
                return
            connection.sendall(got)
    except OSError:
        return


def answer(address):
    packets = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    packets.bind((address, UDP))
    listener = socket.create_server((address, TCP))

    def accept():
        while True:
            threading.Thread(target=echo, args=(listener.accept()[0],), daemon=True).start()

    def reply():
        while True:
            got, sender = packets.recvfrom(100)
            packets.sendto(got, sender)

    for work in (accept, reply):
        threading.Thread(target=work, daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()


class Connection(threading.Thread):
    """A byte there and back, again and again, on one connection that is never made again."""

    def __init__(self, address, interval):
        super().__init__(daemon=True)
        self.address, self.interval = address, interval
        self.rounds, self.longest, self.error, self.asked = 0, 0.0, None, None

    def run(self):
        try:
            with socket.create_connection((self.address, TCP), 5) as connection:
                connection.settimeout(DEAD)
                while True:
                    self.asked = time.monotonic()
                    connection.sendall(b"x")
                    if not connection.recv(1):
                        raise OSError("closed by the other end")
                    self.longest = max(self.longest, time.monotonic() - self.asked)
                    self.rounds, self.asked = self.rounds + 1, None
                    time.sleep(self.interval)
        except OSError as error:
            self.error = str(error) or type(error).__name__

    def result(self):
        asked = self.asked
        waiting = time.monotonic() - asked if asked else 0.0
        longest = round(max(self.longest, waiting) * 1000)
        return {"tcp_rounds": self.rounds, "tcp_longest_ms": longest, "tcp_error": self.error}


class Packets:
    """Numbered packets: when each was sent, and when it came back."""

    def __init__(self, address, interval):
        self.interval = interval
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect((address, UDP))
        self.socket.settimeout(0.2)
        self.sent, self.back, self.refused, self.over = [], {}, 0, False

    def receive(self):
        while not self.over:
            try:
                number = int(self.socket.recv(100))
            except (OSError, ValueError):
                continue
            self.back.setdefault(number, time.monotonic())

    def in_a_row(self, wanted):
        """Whether that many packets came back one after the other, up to the last but a few."""
        last = len(self.sent) - 10
        return last >= wanted and all(number in self.back for number in range(last - wanted, last))

    def send(self, over, ready):
        due = time.monotonic()
        while not over.is_set():
            number = len(self.sent)
            self.sent.append(time.monotonic())
            try:
                self.socket.send(b"%d" % number)
            except OSError:
                self.refused += 1
            ready(self)
            # What the machine made late is not caught up with: a burst would be lost in some buffer, and prove nothing.
            due = max(due + self.interval, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))

    def outages(self):
        """(first, last) of each run of packets that did not come back."""
        found = []
        for number in range(len(self.sent)):
            if number in self.back:
                continue
            if found and found[-1][1] == number - 1:
                found[-1] = (found[-1][0], number)
            else:
                found.append((number, number))
        return found

    def result(self):
        outages = self.outages()
        lengths = [self.sent[last] - self.sent[first] + self.interval for first, last in outages]
        arrived = sorted(self.back.values())
        silences = [later - sooner for sooner, later in zip(arrived, arrived[1:])]
        late = [later - sooner - self.interval for sooner, later in zip(self.sent, self.sent[1:])]
        return {
            "sent": len(self.sent),
            "lost": len(self.sent) - len(self.back),
            "not_sent": self.refused,
            "outages": len(outages),
            "longest_outage_ms": round(max(lengths, default=0.0) * 1000),
            "longest_silence_ms": round(max(silences, default=0.0) * 1000),
            # How late the machine let the sender be: a silence of that length says nothing of the network.
            "latest_send_ms": round(max(late, default=0.0) * 1000),
        }


def ask(address, interval):
    packets, connection = Packets(address, interval), Connection(address, interval)
    over, told = threading.Event(), threading.Event()

    def ready(asked):
        if (
            not told.is_set()
            and len(asked.sent) % 20 == 0
            and connection.rounds
            and asked.in_a_row(round(1 / interval))
        ):
            told.set()
            print("ready", flush=True)

    threading.Thread(target=packets.receive, daemon=True).start()
    sender = threading.Thread(target=packets.send, args=(over, ready), daemon=True)
    connection.start()
    sender.start()
    sys.stdin.read()
    over.set()
    sender.join()
    time.sleep(PATIENCE)
    packets.over = True
    print(json.dumps({**packets.result(), **connection.result(), "ready": told.is_set()}), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "answer":
        answer(sys.argv[2])
    else:
        ask(sys.argv[2], float(sys.argv[3]))
