"""Judges a quiz: works every answer out again, from the JSON lines of the same run, and compares.

    quiz_key.py LINES TRACE SHEETS..      prints the kinds that were asked; a sentence at the first fault

Contributions are found by asking, element by element, who wrote there last and what that was made
of; values by adding the ranks' index pattern, where that is the data. Each line that proves an answer must stand in TRACE, the
text trace of the same run, as it is.
"""
import json
import re
import sys
from collections import Counter


class Run:
    def __init__(self, path):
        lines = [json.loads(line) for line in open(path, encoding="utf-8")]
        self.header = lines[0]
        self.ops = [line for line in lines if line["type"] == "op"]
        self.states = [line for line in lines if line["type"] == "state"]
        self.findings = lines[-1]["findings"]
        self.named = {op["name"]: op for op in self.ops}
        self.n = self.header["ranks"]
        self.order = [i for state in self.states for i in state["ops"]] or \
            list(range(len(self.ops)))
        self.position = {op: i for i, op in enumerate(self.order)}

    def segment(self, index):
        base, more = divmod(self.header["count"], self.n)
        return index * base + min(index, more), base + (index < more)

    def held(self, rank, memory, element, end):
        """Contributions and value (None: not known) there, once the first `end` ops are over."""
        for i in range(end - 1, -1, -1):
            op = self.ops[self.order[i]]
            to, source = op["dst"], op.get("src")
            if (to["rank"], to["memory"]) != (rank, memory) or \
                    not to["first"] <= element < to["first"] + to["count"]:
                continue
            if op["kind"] == "compute":
                return Counter([rank]), (element + 31 * rank + 101 * op["iteration"]) % 251
            new = source and self.held(source["rank"], source["memory"],
                                       source["first"] + element - to["first"], i)
            if op["kind"] == "copy":
                return new
            old = self.held(rank, memory, element, i)
            if op["kind"] == "reduce":
                known = old[1] is not None and new[1] is not None
                return old[0] + new[0], old[1] + new[1] if known else None
            return old[0], None # scaled
        own = memory == "data"
        return Counter([rank] if own else []), (element + 31 * rank) % 251 if own else None

    def left(self, op):
        """Contributions in the first element that the op wrote, behind it."""
        to = op["dst"]
        return self.held(to["rank"], to["memory"], to["first"], self.position[op["id"]] + 1)[0]

    def cell(self, rank, segment, stop):
        """What stands there when that stop is over, at every element where a span begins."""
        first, count = self.segment(segment)
        elements = {first, first + count - 1} | {
            op["dst"]["first"] for op in self.ops
            if op["dst"]["memory"] == "data" and first <= op["dst"]["first"] < first + count}
        end = sum(len(state["ops"]) for state in self.states[:stop + 1])
        return [self.held(rank, "data", element, end) for element in sorted(elements)]


def ranks(text, n):
    if text == "all":
        return Counter(range(n))
    found = Counter()
    for term in re.findall(r"[^+]+", text):
        times, last = 1, None
        match = re.fullmatch(r"(?:(\d+)\*)?\(?(\d+)(?:\.\.(\d+))?\)?", term)
        times, first, last = match.groups()
        for rank in range(int(first), int(last or first) + 1):
            found[rank] += int(times or 1)
    return found


def stop_of(run, title):
    """The stop that a ring's title names."""
    match = re.match(r"(?:iteration (\d+), )?step s=(\d+) ", title)
    if match:
        return next(i for i, state in enumerate(run.states) if state.get("step") == int(match[2])
                    and state.get("iteration", 0) == int(match[1] or 0))
    match = re.match(r"(?:iteration (\d+), )?ops? (\d+)", title)
    if match:
        done = 0
        for i, state in enumerate(run.states):
            if state["ops"] and done + 1 == int(match[2]):
                return i
            done += len(state["ops"])
    match = re.match(r"iteration (\d+), before", title)
    if match:
        return next(i for i, state in enumerate(run.states)
                    if i and "step" not in state and state["iteration"] == int(match[1]))
    if title == "behind the last step":
        return len(run.states) - 1
    raise ValueError("no such moment: " + title)


def moment_ops(run, title):
    match = re.match(r"bucket (\d+) of", title)
    if match:
        return [op for op in run.ops if op.get("bucket") == int(match[1])]
    if not run.states:
        step = int(re.match(r"step s=(\d+) ", title)[1])
        return [op for op in run.ops if op.get("step") == step]
    return [run.ops[i] for i in run.states[stop_of(run, title)]["ops"]]


def only(values, what):
    values = set(values)
    if len(values) != 1:
        raise ValueError(f"{what}: {len(values)} answers")
    return values.pop()


def sends(run, title, step, rank):
    ops = [op for op in moment_ops(run, title) if op["kind"] == "copy"
           and op["src"]["rank"] == rank and step in (None, op.get("step"))]
    return ops


def judge(run, title, text, answer):
    """Raises where the answer is not the only right one; returns the kind."""
    match = re.match(r"(?:At step s=(\d+), )?(.*)", text, re.S)
    step, text = (int(match[1]) if match[1] else None), match[2]
    patterns = {
        "sends": r"[Ww]hich segment does rank (\d+) send",
        "receiver": r"[Tt]o which rank does rank (\d+) send",
        "holds": r"Whose contributions will segment (\d+) of rank (\d+) hold afterwards",
        "value": r"Which value will the first element of segment (\d+) of rank (\d+) have",
        "sum": r"[Rr]ank (\d+) adds segment (\d+)\. Whose",
        "why": r"(\S+) waits for (\S+)\. Why",
        "missing": r"(\S+) lacks a wait",
        "exposed": r"Rank (\d+) computes from (\S+) to (\S+) us, and its ring of bucket (\d+)",
    }
    kind, match = next((kind, match) for kind, match in
                       ((kind, re.match(pattern, text)) for kind, pattern in patterns.items())
                       if match)
    if kind == "sends":
        right = only((op["segment"] for op in sends(run, title, step, int(match[1]))), text)
        same = right == int(answer)
    elif kind == "receiver":
        right = only((op["dst"]["rank"] for op in sends(run, title, step, int(match[1]))), text)
        same = right == int(answer)
    elif kind in ("holds", "value"):
        stop, segment, rank = stop_of(run, title), int(match[1]), int(match[2])
        if run.findings and any(f["kind"] == "hazard" for f in run.findings):
            raise ValueError("asked in spite of hazards: " + text)
        at = run.cell(rank, segment, stop)
        right = at[0][0]
        if any(cell[0] != right for cell in at):
            raise ValueError("not the same in the whole segment: " + text)
        same = ranks(answer, run.n) == right if kind == "holds" else \
            float(answer) == run.states[stop]["cells"][rank][segment]["value"]
        if kind == "value" and run.header["redop"] == "sum" and run.header["data"].startswith("index"):
            right = at[0][1]
            same = same and float(answer) == right
    elif kind == "sum":
        rank, segment = int(match[1]), int(match[2])
        ops = [op for op in moment_ops(run, title) if op["kind"] == "reduce" and op["rank"] == rank
               and op["segment"] == segment and step in (None, op["step"])]
        right = run.left(ops[0])
        same = all(run.left(op) == ranks(answer, run.n) for op in ops)
    elif kind == "why":
        op, other = run.named[match[1]], run.named[match[2]]
        right = only([wait["reason"] for wait in op["waits"] if wait["op"] == other["id"]], text)
        if sum(wait["op"] == other["id"] for wait in op["waits"]) != 1:
            raise ValueError("two waits: " + text)
        same = right == answer
    elif kind == "missing":
        op = run.named[match[1]]
        right = only([run.ops[f["missing"]["waits_for"]]["name"] for f in run.findings
                      if f["kind"] == "hazard" and f["missing"]["op"] == op["id"]], text)
        same = right == answer
    else:
        rank, bucket = int(match[1]), int(match[4])
        ring = [op for op in run.ops if op["rank"] == rank and op.get("bucket") == bucket]
        ends = [op["end_us"] for op in run.ops if op["rank"] == rank and op["kind"] == "compute"]
        begin, end = min(op["begin_us"] for op in ring), max(op["end_us"] for op in ring)
        right = max(0, end - max(begin, max(ends)))
        same = abs(right - float(answer.split()[0])) < 0.051
    if not same:
        raise ValueError(f"{text} - the key says {answer}, but it is {right}")
    return kind


def read_sheet(lines):
    """[(title, question, answer, proof lines)]"""
    questions, title, answers, in_key = [], None, [], False
    for line in lines:
        line = line.rstrip("\n")
        item = re.match(r" {0,3}(\d+)\. (.*)", line)
        if line == "key":
            in_key = True
        elif item and in_key:
            answers.append((item[2], []))
        elif item:
            questions.append([title, item[2]])
        elif in_key:
            answers[-1][1].append(line)
        elif questions and line.startswith("      "):
            questions[-1][1] += "\n" + line.strip()
        elif line:
            title = line
    if len(questions) != len(answers):
        raise ValueError(f"{len(questions)} questions, {len(answers)} answers")
    return [(title, text, answer, proof)
            for (title, text), (answer, proof) in zip(questions, answers)]


def judge_proof(run, trace, text, proof):
    shown, sentence = 0, ""
    for line in proof:
        if re.match(r"      (ready|arrived|drained|serial|exposed): ", line):
            continue
        if line.startswith(" " * 12) and line[12] != " ":
            sentence += line[11:] # of a finding; the trace shows only the first ten
            continue
        shown += 1
        if run.header["ranks"] <= 16 and line not in trace:
            raise ValueError("this is no line of the trace: " + line)
    if sentence and sentence.strip() not in [f["text"] for f in run.findings]:
        raise ValueError("this is no finding: " + sentence)
    if not shown:
        raise ValueError("nothing proves the answer to: " + text)


def main():
    run = Run(sys.argv[1])
    trace = set(open(sys.argv[2], encoding="utf-8").read().split("\n"))
    kinds = Counter()
    for path in sys.argv[3:]:
        moment = None
        for title, text, answer, proof in read_sheet(open(path, encoding="utf-8")):
            kinds[judge(run, title, text, answer)] += 1
            judge_proof(run, trace, text, proof)
            if title != moment:
                moment, shown = title, set()
            lines = {line for line in proof if re.match(r"  rank|  \S+ +rank", line)}
            if shown & lines:
                raise ValueError("an earlier answer gives it away: " + text)
            shown |= lines
    print(" ".join(f"{kind}:{n}" for kind, n in sorted(kinds.items())))


try:
    main()
except (ValueError, KeyError, IndexError, StopIteration) as fault:
    sys.exit(f"{type(fault).__name__}: {fault}")
