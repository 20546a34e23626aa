"""Holds JSON lines on standard input against the tables of docs/trace-format.md.

    trace_format.py docs/trace-format.md ARGUMENTS-OF-THE-RUN.. < LINES

Ends with a sentence on standard error, and status 1, at the first line that is not as documented.
"""
import json
import re
import sys


def read_tables(path):
    """{object: {key: (type, when)}}"""
    tables, rows = {}, None
    for line in open(path, encoding="utf-8"):
        heading = re.match(r"### (\w+)$", line)
        if heading:
            rows = tables.setdefault(heading.group(1), {})
        cells = [cell.strip() for cell in line.split("|")]
        if rows is not None and len(cells) == 6 and cells[1].startswith("`"):
            rows[cells[1].strip("`")] = (cells[2], cells[3])
    return tables


def refuse(word):
    raise ValueError("a bare " + word)


class Run:
    def __init__(self, path, arguments):
        self.tables = read_tables(path)
        self.text = " ".join(arguments)
        self.overlap = arguments[:1] == ["overlap"]
        self.header = self.n_copies = self.n_states = None
        self.used = set()

    def verified(self):
        return "--times-only" not in self.text and "--never-ready" not in self.text

    def expects(self, when, thing):
        """True, False, or None: may be there or not."""
        header, option = self.header, lambda name: name in self.text
        rules = {
            "always": lambda: True,
            "where labelled": lambda: None,
            "modelled times": lambda: header["times"].startswith("modelled"),
            "goal with a root": lambda: header["goal"] in ("broadcast", "reduce"),
            "--plan": lambda: option("--plan "),
            "--bug": lambda: option("--bug "),
            "--delay": lambda: option("--delay "),
            "--schedule search": lambda: option("search:"),
            "overlap": lambda: self.overlap,
            "overlap --slow rank": lambda: self.overlap and option("--slow rank"),
            "overlap --never-ready": lambda: option("--never-ready"),
            "copy or reduce": lambda: thing["kind"] in ("copy", "reduce"),
            "at most 1000000 ops": lambda: header["n_ops"] <= 1000000,
            "not empty": lambda: thing != {},
            "verified": self.verified,
            "verified, same everywhere": lambda: self.verified() and header["goal"] in (
                "allreduce", "all-gather", "broadcast"),
            "second run": lambda: not self.overlap,
            "some differ": lambda: thing.get("n_different", 0) > 0,
            "some are wrong": lambda: thing.get("n_wrong", 0) > 0,
            "ring, no random schedule": lambda: not self.overlap and not (
                option("random:") or option("search:")),
            "something was sent": lambda: self.n_copies > 0,
            "hazard": lambda: thing["kind"] == "hazard",
            "sum": lambda: thing["kind"] == "sum",
        }
        return rules[when]()

    def check_value(self, where, kind, value):
        if kind.startswith("["):
            assert isinstance(value, list), where + " is no array"
            for item in value:
                self.check_value(where, kind[1:-1], item)
        elif kind in self.tables:
            self.check_object(kind, value)
        else:
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            good = {"integer": number and isinstance(value, int), "string": isinstance(value, str),
                    "boolean": isinstance(value, bool), "us": number and value >= 0,
                    "number": number or value in ("nan", "inf", "-inf")}[kind]
            assert good, "%s is no %s: %r" % (where, kind, value)

    def check_object(self, name, thing):
        table = self.tables[name]
        assert isinstance(thing, dict), name + " is no object"
        for key in thing:
            assert key in table, "%s has a key that is not documented: %s" % (name, key)
        for key, (kind, when) in table.items():
            expected = self.expects(when, thing)
            assert expected is None or expected == (key in thing), "%s: %s %s, by '%s'" % (
                name, key, "is missing" if expected else "is there", when)
            if key in thing:
                self.used.add((name, key))
                self.check_value("%s.%s" % (name, key), kind, thing[key])

    def check_line(self, line, number):
        thing = json.loads(line, parse_constant=refuse)
        kind = thing["type"]
        if kind == "header":
            assert number == 0 and thing["schema"] == 2, "no header of schema 2"
            self.header, self.n_copies, self.n_states = thing, 0, 0
        if kind == "op":
            assert thing["id"] == number - 1, "op out of order"
            self.n_copies += (thing["kind"] == "copy" and
                              thing["src"]["rank"] != thing["dst"]["rank"])
        if kind == "state":
            n = self.header["ranks"]
            assert thing["stop"] == self.n_states, "stop out of order"
            assert [len(row) for row in thing["cells"]] == [n] * n, "cells are not ranks x segments"
            self.n_states += 1
        assert kind in ("header", "op", "state", "summary"), "a line of type " + kind
        self.check_object(kind, thing)
        return kind


def main():
    run = Run(sys.argv[1], sys.argv[2:])
    kinds = []
    for number, line in enumerate(sys.stdin.buffer):
        try:
            kinds.append(run.check_line(line.decode("utf-8"), number))
        except (AssertionError, KeyError, ValueError) as problem:
            sys.exit("line %d: %s" % (number + 1, problem))
    order = ["header"] + ["op"] * run.header["n_ops"] + ["state"] * run.n_states + ["summary"]
    if kinds != order:
        sys.exit("lines are missing or out of order")
    if (run.n_states > 0) != (not run.overlap and run.header["ranks"] <= 16 and
                              run.header["n_ops"] <= 4000):
        sys.exit("%d states" % run.n_states)
    for name, key in sorted(run.used):
        print(name, key)


main()
