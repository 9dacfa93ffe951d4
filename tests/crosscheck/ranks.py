"""Ranks that do steps together, and wait for each other: which are late or slow, and what the others may wait for."""


def together(report):
    """The ranks that do steps together: with their names, unless they do steps of their own."""
    rows = [row for row in report["ranks"] if row["steps"]["count"]]
    names = {row["resource"]["rank"] for row in rows}
    if len(rows) < 2 or None in names or len(names) < len(rows):
        return []
    mode = next(mode for mode in report["detailed_metrics"]["modes"] if mode["mode"] == report["summary"]["mode"])
    numbers = mode["step_range"]
    apart = mode["numbers"] == "unique" and numbers and mode["all"]["count"] <= numbers[1] - numbers[0] + 1
    return [] if apart else rows


def exposed_of(row, phases):
    return sum(time["exposed_ns"] for time in row["phases_per_step"] if time["phase"] in phases)


def from_step_to_step_of(row, phase):
    """What a rank spends in a phase in its steps and between them, by a step."""
    return exposed_of(row, (phase,)) + sum(time["exposed_ns"] for time in row["phases_between_steps"] if time["phase"] == phase)


WAITS = ("communication", "synchronization")


def others_wait(report, direct):
    """What ranks may wait for the cause on others, a step: no longer than it takes on these, nor than they wait at all, where
    sections tell that."""
    rows = together(report)
    if not rows:
        return 0
    waits = sum(sum(from_step_to_step_of(row, phase) for phase in WAITS) * row["steps"]["count"] for row in rows)
    waits //= sum(row["steps"]["count"] for row in rows)
    all_of_it = direct * (len(rows) - 1)
    has_sections = any(section["phase"] in WAITS for section in report["sections"])
    is_told = has_sections and (waits > 0 or all(row["phases_per_step"] for row in rows))
    return min(all_of_it, waits) if is_told else all_of_it


def evaluating(report):
    """Those of the ranks that do steps of other modes between their steps, where the others do none."""
    rows = [row for row in report["ranks"] if row["steps"]["count"]]
    some = [row for row in rows if row["other_steps_ns"]]
    return [] if len(some) == len(rows) else some


def one_evaluating(report):
    some = evaluating(report)
    return some[0]["resource"]["rank"] if len(some) == 1 else None


def late_rank(report):
    """The one that communicates for at most two thirds as long as each of the others, and works for longer than any."""
    rows = [(row["communication_per_step_ns"], row["resource"]["rank"], from_step_to_step(row)) for row in report["ranks"]]
    if len(rows) < 2 or None in {value for row in rows for value in row} or len({rank for _, rank, _ in rows}) < len(rows):
        return None
    (late, rank, mean), *others = sorted(rows)
    works = [max(0, others_mean - waits) for waits, _, others_mean in others]
    is_late = 0 < others[0][0] >= 1.5 * late and max(works) < max(0, mean - late)
    return rank if is_late else None


def from_step_to_step(row):
    """What a step takes with what follows it up to the next, on average."""
    return row["throughput"]["elapsed_ns"] // row["steps"]["count"] if row["steps"]["count"] else None


def works_of(row):
    """What a rank's usual step takes without its waiting for others, where that is known."""
    return row["works" if row["works"]["count"] else "steps"]["p50"]


def slow_ranks(report):
    """The ranks above the widest gap, half of them at most, and by how much the last of them is above the next."""
    rows = [row for row in report["ranks"] if row["steps"]["count"]]
    rows.sort(key=lambda row: (-works_of(row), row["resource"]["rank"]))
    gaps = [works_of(before) - works_of(after) for before, after in zip(rows, rows[1 : len(rows) // 2 + 1])]
    widest = gaps.index(max(gaps))
    return rows[: widest + 1], gaps[widest]


def one_slow_rank(report):
    slow, _ = slow_ranks(report)
    return slow[0]["resource"]["rank"] if len(slow) == 1 else None
