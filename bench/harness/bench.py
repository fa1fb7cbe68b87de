"""Turns of those who take part."""

import random
from pathlib import Path

from harness.processes import Failure, Fleet


class Bench:
    def __init__(self, subject, children, server, cast, seconds, folder, log, tell):
        self.subject, self.children, self.server, self.cast = subject, children, server, cast
        self.seconds, self.folder, self.log, self.tell = seconds, Path(folder), log, tell
        self.broken = {}  # participants that failed, and how

    def warm_up_server(self):
        """With requests that are the same for everybody."""
        if not self.server.warm_up:
            return
        self.tell("warming up the server")
        fleet = Fleet(self.children, self.cast.queue_floor, 4, self.log)
        fleet.ask_all([f"open {self.server.url} {fleet.who.scheme} 1"] * 4)
        fleet.ask_all([f"prepare warm-up-server-{index}" for index in range(4)])
        fleet.ask_all([f"pairs warm-up-server-{index} {self.server.warm_up * 1000}" for index in range(4)])
        fleet.stop()

    def more_floors(self):
        """Of a lock that changes hands, besides the lowest one."""
        return [self.cast.floor[scheme] for scheme in self.subject.more_floors]

    def rounds(self, case, turn, participants, least=3):
        """So many that the case's part of the time is used."""
        return max(least, round(self.seconds * self.subject.shares[case] / (turn * len(participants))))

    def each(self, case, fleets, step):
        """Lets each fleet do something. A peer that fails takes no further part, and is named. Answers who is left."""
        left = []
        for fleet in fleets:
            try:
                step(fleet)
                left.append(fleet)
            except Failure as error:
                if fleet.who not in self.cast.peers:
                    raise
                self.broken[f"{fleet.who.name}, {case}"] = str(error)
                fleet.stop()
        return left

    def fleets(self, case, participants, processes, clients):
        """Started, connected and warm."""

        def open_all(fleet):
            fleet.ask_all([f"open {self.server.url}{fleet.who.options} {fleet.who.scheme} {clients}"] * processes)
            self.warm_up(fleet)

        return self.each(case, [Fleet(self.children, who, processes, self.log) for who in participants], open_all)

    def play(self, case, fleets, rounds, turn):
        """Turns in a new order every round."""
        for number in range(rounds):
            self.tell(f"{case}: round {number + 1} of {rounds}")
            fleets = self.each(case, in_some_order(fleets), lambda fleet: turn(fleet, number))
        for fleet in fleets:
            fleet.stop()

    def warm_up(self, fleet):
        """Some are compiled while they run. All processes of a fleet at the same time, each with a lock of its own."""
        self.tell(f"warming up {fleet.who.name}")
        length = int(1000 * fleet.who.warm_up * max(1, len(fleet.members) / 2))
        names = [f"warm-up-{slug(fleet.who)}-{index}" for index in range(len(fleet.members))]
        fleet.ask_all([f"prepare {name}" for name in names])
        fleet.ask_all([f"pairs {name} {length}" for name in names])


def in_some_order(fleets):
    """Another one every time, but neighbours stay neighbours: pawl and its floor meet the same weather."""
    begin = random.randrange(len(fleets))
    turned = fleets[begin:] + fleets[:begin]
    return turned[::-1] if random.random() < 0.5 else turned


def slug(who):
    return who.name.replace(" ", "-")
