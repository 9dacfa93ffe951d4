"""Changes of a report that a comparison has to notice: false findings, sections, shares, orders, and what is left out.
Each takes the report's own value away, so that it cannot be true by chance."""

import copy

import comparison
import evidence
import report


def computed(edited):
    """Findings of the rules of which more is computed than severity and gain."""
    return [finding for finding in edited["findings"] if finding["rule"] in evidence.OF_RULE]


def evidence_tenfold(edited):
    for finding in computed(edited):
        for name, value in finding["evidence"].items():
            if isinstance(value, (int, float)):
                finding["evidence"][name] = value * 10
    return bool(computed(edited))


def leak_elsewhere(edited):
    """The leak and its finding in another section of the report."""
    for leak in edited["leaks"]:
        other = next(row["path"] for row in edited["sections"] if row["path"] != leak["section"])
        for finding in edited["findings"]:
            if finding["rule"] == "memory_growth":
                finding["section"] = other
        leak["section"] = other
    return bool(edited["leaks"])


def finding_elsewhere(edited):
    for finding in computed(edited)[:1]:
        finding["section"] = next(row["path"] for row in edited["sections"] if row["path"] != finding["section"])
    return bool(computed(edited))


def title_of_nothing(edited):
    """Of the first finding that names a share."""
    named = [finding for finding in computed(edited) if " % of " in finding["title"]]
    for finding in named[:1]:
        finding["title"] = "1.234 % of" + finding["title"].partition(" of")[2]
    return bool(named)


def another_verdict(edited):
    edited["summary"]["verdict"] = "Not input bound: 0 %."
    return True


def another_share_in_the_verdict(edited):
    before, sign, after = edited["summary"]["verdict"].partition(" %")
    edited["summary"]["verdict"] = f"{before}7{sign}{after}"
    return bool(sign)


def findings_reversed(edited):
    listed = edited["findings"]
    listed.reverse()
    return len({one["severity"] for one in listed}) > 1


def no_findings(edited):
    return bool(edited["findings"]) and edited["findings"].clear() is None


def no_rules(edited):
    edited["detailed_metrics"]["rules"] = []
    return True


def a_rule_that_found_is_fine(edited):
    found = [rule for rule in edited["detailed_metrics"]["rules"] if rule["state"] == "found"]
    for rule in found[:1]:
        rule["state"] = "fine"
    return bool(found)


def no_slowest_sections(edited):
    lists = edited["detailed_metrics"]
    return bool(lists["slowest_sections"]) and lists["slowest_sections"].clear() is None


def no_most_variable_sections(edited):
    lists = edited["detailed_metrics"]
    return bool(lists["most_variable_sections"]) and lists["most_variable_sections"].clear() is None


def end_is_not_known(edited):
    had = edited["run"]["ended"] is not None
    edited["run"]["ended"] = None
    return had


def level_is_another(edited):
    had = bool(edited["run"]["level"])
    edited["run"]["level"] = "basic" if edited["run"]["level"] == "detailed" else "detailed"
    return had


def another_section_holds(edited):
    """The first and the last of the sections change their places, and so do their bytes."""
    held = (edited["memory"] or {}).get("by_section")
    if not held or len(held["sections"]) < 2:
        return False
    for listed in (held["sections"], *(point["sections"] for point in held["points"])):
        listed[0], listed[-1] = listed[-1], listed[0]
    return True


def more_warm_up(edited):
    """One step more of each process, wherever that number stands."""
    primary = edited["summary"]["mode"]
    for row in edited["ranks"]:
        row["warmup_steps"] += 1
    for mode in edited["detailed_metrics"]["modes"]:
        if mode["mode"] == primary:
            mode["warmup"]["steps"] += len(edited["ranks"])
            mode["warmup"]["max_per_instance"] += 1
    edited["summary"]["warmup_steps"] += len(edited["ranks"])
    return bool(edited["ranks"])


EDITS = (
    evidence_tenfold, leak_elsewhere, finding_elsewhere, title_of_nothing, another_verdict, another_share_in_the_verdict,
    findings_reversed, no_findings, no_rules, a_rule_that_found_is_fine, no_slowest_sections, no_most_variable_sections,
    end_is_not_known, level_is_another, another_section_holds, more_warm_up,
)


def unnoticed(original, run, sums, assembler):
    """(names of the edits that this report has something for, those of them that no comparison notices)."""
    made, missed = [], []
    for edit in EDITS:
        edited = copy.deepcopy(original)
        if not edit(edited):
            continue
        made.append(edit.__name__)
        compare = comparison.Comparison()
        try:
            report.against_spans(edited, run, sums, assembler, compare)
        except (ArithmeticError, LookupError, StopIteration, TypeError):
            # What belongs together is no longer there.
            continue
        if not compare.differences:
            missed.append(edit.__name__)
    return made, missed
