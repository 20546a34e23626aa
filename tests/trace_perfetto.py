"""Holds a Chrome trace on standard input against the JSON lines of the same run.

    trace_perfetto.py LINES < TRACE

Ends with a sentence on standard error, and status 1, where a viewer would not show what happened.
"""
import json
import re
import sys
from collections import defaultdict


def refuse(word):
    raise ValueError("a bare " + word)


def to_ns(us):
    """Times are read as text: to the nanosecond, and never in floating point."""
    assert re.fullmatch(r"\d+\.\d{3}", us), "%s is no time" % us
    return int(us.replace(".", ""))


def read(path_lines):
    lines = [json.loads(line) for line in open(path_lines, encoding="utf-8")]
    text = sys.stdin.buffer.read().decode("utf-8")
    trace = json.loads(text, parse_constant=refuse)
    exact = json.loads(text, parse_float=lambda digits: digits)["traceEvents"]
    for event, copy in zip(trace["traceEvents"], exact):
        for key in ("ts", "dur"):
            if key in event:
                event[key] = to_ns(copy[key])
    return lines[0], [line for line in lines if line["type"] == "op"], trace


def check_names(header, events, slices):
    names = {(e["name"], e["pid"], e.get("tid") if "thread" in e["name"] else None):
             list(e["args"].values())[0] for e in events if e["ph"] == "M"}
    for event in slices:
        assert ("thread_name", event["pid"], event["tid"]) in names, "a track without a name"
        assert ("thread_sort_index", event["pid"], event["tid"]) in names, "a track without a place"
    for rank in range(header["ranks"]):
        name = names[("process_name", rank + 1, None)]
        assert name.startswith("rank %d," % rank), "a rank's name"
        assert names[("process_sort_index", rank + 1, None)] == rank, "a rank's place"
    return names


def check_slices(header, ops, slices, names):
    assert len(slices) == len(ops), "%d slices of %d ops" % (len(slices), len(ops))
    for event in slices:
        op = ops[event["args"]["id"]]
        begin, end = round(op["begin_us"] * 1000), round(op["end_us"] * 1000)
        assert (event["ts"], event["dur"]) == (begin, end - begin), "times of " + op["name"]
        assert event["name"] == op["name"], "name of " + op["name"]
        assert event["pid"] == op["rank"] + 1, "rank of " + op["name"]
        track = names[("thread_name", event["pid"], event["tid"])]
        assert track == op["lane"], "lane of " + op["name"]
        told = {key: op[key] for key in ("iteration", "bucket", "step", "segment", "piece", "layer",
                                         "bytes", "holds") if key in op}
        told.update(id=op["id"], waits=["%s %s" % (ops[w["op"]]["name"], w["reason"])
                                        for w in op["waits"]])
        if op["kind"] == "copy":
            told.update({"from": op["src"]["rank"], "to": op["dst"]["rank"]})
        assert event["args"] == told, "args of %s: %s" % (op["name"], event["args"])


def open_slice(event, before):
    """What a viewer ties an arrow's end to: of the slices that the file has shown so far on this
    track (it is sorted by time, stably), the last that has begun."""
    began = [s for s in before if s["ts"] <= event["ts"]]
    return began[-1] if began else None


def check_nesting_and_arrows(ops, events):
    tracks, ends = defaultdict(list), defaultdict(dict)
    in_time = sorted((e for e in events if e["ph"] in "Xsf"), key=lambda e: e["ts"])
    for event in in_time:
        track = tracks[(event["pid"], event["tid"])]
        if event["ph"] == "X":
            assert not track or track[-1]["ts"] + track[-1]["dur"] <= event["ts"], "slices overlap"
            track.append(event)
            continue
        tied = open_slice(event, track)
        assert tied and event["ts"] <= tied["ts"] + tied["dur"], "an arrow's end outside of slices"
        assert event["ph"] == "f" or not tied["dur"] or event["ts"] < tied["ts"] + tied["dur"], \
            "an arrow begins where its slice has ended"
        assert event["ph"] == "s" or event["bp"] == "e", "an arrow that ends in no enclosing slice"
        assert event["ph"] not in ends[event["id"]], "an arrow's number used twice"
        assert event["ph"] == "s" or "s" in ends[event["id"]], "an arrow ends before it begins"
        ends[event["id"]][event["ph"]] = (tied["args"]["id"], event["name"])
    drawn = sorted((a["s"][0], a["f"][0], a["f"][1]) for a in ends.values())
    wanted = sorted((w["op"], op["id"], w["reason"]) for op in ops for w in op["waits"]
                    if (ops[w["op"]]["rank"], ops[w["op"]]["lane"]) != (op["rank"], op["lane"]))
    assert drawn == wanted, "%d arrows of %d waits between lanes" % (len(drawn), len(wanted))


def check_counter(ops, events):
    counted = [(e["ts"], e["args"]["bytes"]) for e in events if e["ph"] == "C"]
    changes = defaultdict(int)
    for op in ops:
        if op["kind"] == "copy" and op["src"]["rank"] != op["dst"]["rank"]:
            changes[round(op["begin_us"] * 1000)] += op["bytes"]
            changes[round(op["end_us"] * 1000)] -= op["bytes"]
    now, wanted = 0, []
    for ns in sorted(changes):
        now += changes[ns]
        wanted.append((ns, now))
    assert counted == wanted and now == 0, "bytes in flight are not those of the copies"


def main():
    header, ops, trace = read(sys.argv[1])
    events = trace["traceEvents"]
    assert trace["otherData"]["notice"] == header["notice"] != "", "no notice"
    assert {e["ph"] for e in events} <= set("MXsfC"), "an event of another kind"
    slices = [e for e in events if e["ph"] == "X"]
    check_slices(header, ops, slices, check_names(header, events, slices))
    check_nesting_and_arrows(ops, events)
    check_counter(ops, events)


try:
    main()
except (AssertionError, KeyError, ValueError) as problem:
    sys.exit("%s: %s" % (type(problem).__name__, problem))
