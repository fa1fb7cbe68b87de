"""The cases that are the same for every store."""

import statistics

from harness.bench import slug
from harness.contention import Contention, contend, pass_on
from harness.figures import Turns, plain_row, row

PROCESSES = 8  # over which waiters are spread
THREADS = 8
SHORT_HOLD = 1000  # microseconds


def play_pairs(bench, participants, turn, case="pairs", harm=lambda: None):
    """Acquire and release, nobody else there: medians, and p99. `harm` is done to the servers when all are connected."""
    fleets = bench.fleets(case, participants, 1, 1)
    median, p99 = Turns(), Turns()
    harm()

    def play(fleet, number):
        words = fleet.members[0].ask(f"pairs {case}-{slug(fleet.who)} {int(turn * 1000)}").split()
        median.add(fleet.who.name, int(words[1]))
        p99.add(fleet.who.name, int(words[2]))

    bench.play(case, fleets, bench.rounds(case, turn, participants), play)
    return median, p99


def measure_threads(bench):
    turn = bench.subject.turns["threads"]
    cast = bench.cast
    others = [who for who in cast.pawl.values() if who is not cast.queue]
    participants = [cast.queue, cast.queue_floor] + others + cast.peers
    fleets = bench.fleets("threads", participants, 1, 1)
    cost = Turns()

    def threads(fleet, name, length):
        fleet.members[0].ask(f"prepare {name}")
        return map(int, fleet.members[0].ask(f"threads {name} {THREADS} {int(length * 1000)}").split())

    def play(fleet, number):
        if number == 0:
            threads(fleet, f"warm-up-{slug(fleet.who)}", 2 * fleet.who.warm_up)
        count, elapsed = threads(fleet, f"threads-{slug(fleet.who)}-{number}", turn)
        cost.add(fleet.who.name, elapsed / count if count else None)

    bench.play("threads", fleets, bench.rounds("threads", turn, participants), play)
    rows = []
    for who in cast.pawl.values():
        one = row(bench, f"{THREADS} threads of one process, {who.scheme}", cost, who.name, cast.queue_floor.name)
        rows.append(beside_best_peer(one, 10))
    return rows


def beside_best_peer(one, goal):
    """So many times faster than each of them."""
    ratios = [peer["to_pawl"] for peer in one["peers"].values() if peer["to_pawl"] is not None]
    if ratios:
        one["to_best_peer"] = best = min(ratios)
        one["goal"], one["met"] = goal, best >= goal
    return one


def measure_hand_over(bench):
    turn = bench.subject.turns["hand-over"]
    cast = bench.cast
    pair = cast.floor.get(bench.subject.pair_floor)
    others = [who for who in [*cast.pawl.values(), *bench.more_floors(), pair] if who and who is not cast.queue]
    participants = [cast.queue, cast.queue_floor] + others + cast.peers
    fleets = bench.fleets("hand-over", participants, 2, 1)
    cost = Turns()

    def play(fleet, number):
        if fleet.who is pair:  # nobody waits for it
            cost.add(pair.name, int(fleet.members[0].ask(f"pairs hand-over-pair {int(turn * 1000)}").split()[1]))
            return
        if number == 0:
            pass_on(fleet, f"warm-up-{slug(fleet.who)}", 2 * fleet.who.warm_up)
        cost.add(fleet.who.name, statistics.median(pass_on(fleet, f"hand-over-{slug(fleet.who)}-{number}", turn)))

    bench.play("hand-over", fleets, bench.rounds("hand-over", turn, participants), play)
    rows = []
    for who in cast.pawl.values():
        goal = bench.subject.hand_over_goal if who is cast.queue else None
        name = f"hand-over to a waiting process, {who.scheme}"
        rows.append(row(bench, name, cost, who.name, cast.queue_floor.name, goal=goal))
        if who is cast.queue:
            rows += [beside(bench, cost, floor) for floor in bench.more_floors()]
            rows += [beside(bench, cost, pair, goal=bench.subject.pair_goal)] if pair else []
    return rows


def measure_short_holds(bench):
    """Two processes take turns, and each keeps the lock for a millisecond, which does not count."""
    turn = bench.subject.turns["short-holds"]
    cast = bench.cast
    pair = cast.floor[bench.subject.pair_floor]
    participants = [cast.queue, cast.queue_floor, pair] + cast.peers
    fleets = bench.fleets("short-holds", participants, 2, 1)
    outcome = Contention()

    def play(fleet, number):
        if fleet.who is pair:  # nobody waits for it
            outcome.cost.add(pair.name, int(fleet.members[0].ask(f"pairs short-pair {int(turn * 1000)}").split()[1]))
            return
        if number == 0:
            contend(fleet, f"warm-up-{slug(fleet.who)}", 2, 2 * fleet.who.warm_up, SHORT_HOLD)
        waiters, start, end = contend(fleet, f"short-{slug(fleet.who)}-{number}", 2, turn, SHORT_HOLD)
        outcome.add(fleet.who, waiters, start, end, turn)

    bench.play("short-holds", fleets, bench.rounds("short-holds", turn, participants), play)
    name = f"hand-over after a hold of 1 ms, {cast.queue.scheme}"
    one = outcome.describe(row(bench, name, outcome.cost, cast.queue.name, pair.name, goal=2.5), [who.name for who in participants])
    peers = row(bench, "the same, beside the others", outcome.cost, cast.queue.name, cast.queue_floor.name)
    return [one, beside_best_peer(peers, bench.subject.short_hold_goal)]


def beside(bench, cost, floor, goal=None):
    """The row above it, beside another floor."""
    name = f"the same, beside the floor {floor.scheme}"
    return row(bench, name, cost, bench.cast.queue.name, floor.name, goal=goal, compared=goal is not None)


def measure_waiters(bench):
    turns = bench.subject.turns["waiters"]
    few, many = min(turns), max(turns)  # waiters
    cast = bench.cast
    pair = cast.floor.get(bench.subject.pair_floor)
    participants = [cast.queue, cast.queue_floor] + ([pair] if pair else []) + bench.more_floors() + cast.peers
    fleets = bench.fleets("waiters", participants, PROCESSES, -(-many // PROCESSES))
    outcomes = {count: Contention() for count in turns}

    def play(fleet, number):
        if fleet.who is pair:  # nobody waits for it, however many there are
            median = int(fleet.members[0].ask(f"pairs waiters-pair {int(turns[few] * 1000)}").split()[1])
            for outcome in outcomes.values():
                outcome.cost.add(pair.name, median)
            return
        if number == 0:
            contend(fleet, f"warm-up-{slug(fleet.who)}", few, 2 * fleet.who.warm_up)
            contend(fleet, f"warm-up-{slug(fleet.who)}-{many}", many, turns[many])  # now all are connected
        for count, length in turns.items():
            waiters, start, end = contend(fleet, f"waiters-{slug(fleet.who)}-{count}-{number}", count, length)
            outcomes[count].add(fleet.who, waiters, start, end, length)

    bench.play("waiters", fleets, bench.rounds("waiters", sum(turns.values()), participants, least=2), play)
    names = [who.name for who in participants]
    rows = []
    for count, outcome in outcomes.items():
        one = row(bench, f"hand-over, {count:,} waiters", outcome.cost, cast.queue.name, cast.queue_floor.name)
        rows.append(outcome.describe(one, names))
        rows += [beside(bench, outcome.cost, floor) for floor in bench.more_floors()]
        rows += [beside(bench, outcome.cost, pair, goal=bench.subject.pair_goal)] if pair else []
    growth = Turns()
    for name in names:
        for less, more in zip(outcomes[few].cost.values.get(name, []), outcomes[many].cost.values.get(name, [])):
            growth.add(name, more / less if less and more else None)
    rows.append(plain_row(bench, f"{many:,} waiters beside {few}", growth, bench.subject.growth_goal))
    rows.append(plain_row(bench, f"longest wait beside the median, {many:,} waiters", outcomes[many].unfair, 2.0))
    return rows
