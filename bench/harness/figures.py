"""What was measured, and how it is told."""

import json
import statistics
import sys


class Turns:
    """What was measured, per participant, one value for each round."""

    def __init__(self):
        self.values = {}

    def add(self, name, value):
        self.values.setdefault(name, []).append(value)

    def median(self, name):
        known = [value for value in self.values.get(name, []) if value is not None]
        return statistics.median(known) if known else None

    def ratios(self, name, other):
        """Round by round: both met the same weather."""
        pairs = zip(self.values.get(name, []), self.values.get(other, []))
        return [one / two for one, two in pairs if one is not None and two]

    def ratio(self, name, other):
        ratios = self.ratios(name, other)
        return statistics.median(ratios) if ratios else None

    def middle_half(self, name, other):
        """Between which two the middle half of the ratios lies: how far a ratio can be trusted."""
        ratios = self.ratios(name, other)
        if len(ratios) < 4:
            return None
        quarters = statistics.quantiles(ratios, n=4)
        return [quarters[0], quarters[2]]


def row(bench, name, turns, pawl, floor, goal=None, compared=True, peers=True):
    """Times in nanoseconds. `goal`: the ratio to the floor must not be above it."""
    ratio = turns.ratio(pawl, floor)
    told = {"case": name, "unit": "ns", "pawl": turns.median(pawl), "floor": turns.median(floor), "ratio": ratio}
    told["middle_half"] = turns.middle_half(pawl, floor)
    told["goal"] = goal
    told["met"] = ratio <= goal if goal is not None and ratio is not None else None
    told["peers"] = {}
    for who in bench.cast.peers if peers else []:
        ahead = turns.ratio(who.name, pawl)
        told["peers"][who.name] = {
            "value": turns.median(who.name),
            "to_floor": turns.ratio(who.name, floor),
            "to_pawl": ahead,
            "pawl_is_ahead": ahead > 1 if ahead is not None and compared else None,
        }
    return told


def plain_row(bench, name, turns, goal=None):
    """Of a ratio that has no floor: the floor's own is told instead."""
    value = turns.median(bench.cast.queue.name)
    floor = turns.median(bench.cast.queue_floor.name)
    told = {"case": name, "unit": "ratio", "pawl": value, "floor": floor, "ratio": value}
    told["goal"] = goal
    told["met"] = value <= goal if value is not None and goal is not None else None
    told["peers"] = {}
    for who in bench.cast.peers:
        known = turns.median(who.name)
        told["peers"][who.name] = {"value": known, "to_floor": None, "to_pawl": None, "pawl_is_ahead": None}
    return told


def quantity(value, unit):
    if value is None:
        return "-"
    if unit == "ratio":
        return f"{value:.2f}"
    return f"{value / 1e6:.1f} ms" if value >= 10e6 else f"{value / 1e3:.1f} us"


def ratio_of(told):
    if told["ratio"] is None:
        return "-"
    half = told.get("middle_half")
    return f"{told['ratio']:.2f}" + (f" ({half[0]:.2f} to {half[1]:.2f})" if half else "")


def cells(told, names):
    goal = "-"
    if told["met"] is not None:
        goal = f"{told['goal']} {'met' if told['met'] else 'MISSED'}"
        if "to_best_peer" in told:
            goal = f"{told['to_best_peer']:.1f} times the best peer, {goal}"
    line = [told["case"], quantity(told["pawl"], told["unit"]), quantity(told["floor"], told["unit"])]
    line += [ratio_of(told), goal]
    for name in names:
        peer = told["peers"].get(name)
        text = quantity(peer["value"], told["unit"]) if peer else "-"
        if name in told.get("at_least", []):
            text = "> " + text
        if peer and peer["to_floor"] is not None:
            text += f" ({peer['to_floor']:.1f})"
        if peer and peer["pawl_is_ahead"] is False:
            text += " AHEAD OF PAWL"
        line.append(text)
    return line


def print_table(rows, bench, cores):
    cast = bench.cast
    names = [who.name for who in cast.peers]
    lines = [["CASE", "PAWL", "FLOOR", "RATIO", "GOAL"] + [name.upper() for name in names]]
    lines += [cells(told, names) for told in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())
    print("\nA ratio is the median of those of single rounds; behind it, where the middle half of them lies: far apart, the")
    print("machine was busy with something else. Behind a peer's time: its ratio to the floor. Times belong to the machine.")
    versions = [f"{name} {version}" for name, version in cast.versions.items()]
    print(f"Server: {bench.subject.title} {bench.server.version()}.")
    print("Cores: " + ", ".join(f"{case} {where}" for case, where in cores.items()) + ".")
    print("Peers: " + (", ".join(versions) or "none") + ".")
    contended = [told for told in rows if "changes_of_process" in told]
    if contended:
        print("A time with >: in some turns no waiting process got the lock at all. How often it changed process:")
    for told in contended:
        rates = told["acquisitions_per_second"]
        shares = [(name, share) for name, share in told["changes_of_process"].items() if share is not None]
        print(f"  {told['case']}: " + ", ".join(f"{name} {share:.0%} of {rates[name]:,.0f}/s" for name, share in shares))


def print_missing(bench):
    for name, why in bench.cast.missing.items():
        print(f"missing: {name}: {why}")
    for name, why in bench.broken.items():
        print(f"failed: {name}: {why}")


def print_json(rows, bench, cores):
    document = {
        bench.subject.store: bench.server.version(),
        "cores": cores,
        "versions": bench.cast.versions,
        "missing": bench.cast.missing,
        "failed": bench.broken,
        "figures": rows,
    }
    json.dump(document, sys.stdout, indent=2)
    print()
