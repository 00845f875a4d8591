"""Runs all benchmarks and prints one summary in Markdown.

Run: python3 benches/run.py [BINARY] [NAME …]; without names all, about ten minutes. BINARY is
the thrashlab to measure: an argument, else $THRASHLAB, else target/release/thrashlab.

Progress goes to standard error. The exit code is 1 if a requirement is not met.
"""

import os
import platform
import sys

import black_box
import deterministic_machine
import doctor_confusion
import fleet
import freeze
import idle_cost
import instrument
import memory
import memory_job
import noise_floor
import peers
import profile_cost
import sample_cost
import section
import start_up
import statistics_of_compare
import trace_record
import watch_cost

# The order of the summary.
ALL = {
    "freeze": freeze,
    "noise_floor": noise_floor,
    "sample_cost": sample_cost,
    "idle_cost": idle_cost,
    "instrument": instrument,
    "profile_cost": profile_cost,
    "watch_cost": watch_cost,
    "black_box": black_box,
    "memory": memory,
    "memory_job": memory_job,
    "start_up": start_up,
    "deterministic_machine": deterministic_machine,
    "fleet": fleet,
    "trace_record": trace_record,
    "doctor_confusion": doctor_confusion,
    "statistics_of_compare": statistics_of_compare,
}


def machine():
    """A line on the machine, and how busy it is, which is what makes figures differ."""
    found = [f"{platform.system()} {platform.release()} {platform.machine()}"]
    found.append(f"{os.cpu_count()} CPUs")
    for each in ("cyclictest", "stress-ng"):
        found.append(peers.version(each) or f"{each} {peers.INSTALL}")
    load = os.getloadavg()[0]
    found.append(f"load average {load:.2f}")
    line = "; ".join(found) + "."
    if load >= os.cpu_count():
        line += "\n\n**The machine is busy: repeat this when it is idle.**"
    return line


def main():
    """The command line."""
    arguments = sys.argv[1:]
    names = [each for each in arguments if each in ALL]
    others = [each for each in arguments if each not in ALL]
    if len(others) > 1 or any(each.startswith("-") for each in others):
        sys.exit(__doc__.strip() + "\n\nNames: " + ", ".join(ALL))
    binary = section.binary_argument(*others)
    print(f"# Benchmarks\n\n{machine()}\n", flush=True)
    met, rows = True, []
    for name in names or ALL:
        found = section.attempt(name, ALL[name].benchmark, binary)
        print(found.markdown(), flush=True)
        for each in found.requirements:
            met = met and each.met
            rows.append([found.title, each.text, each.found, "yes" if each.met else "**no**"])
    print("## Requirements\n")
    print(section.table(["benchmark", "requirement", "found", "met"], rows))
    print(f"\nLoad average at the end {os.getloadavg()[0]:.2f}.")
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
