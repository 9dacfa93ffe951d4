#!/usr/bin/env python3
"""Resident memory of `stepscope monitor` beside Prometheus' node exporter, both scraped every second by the same loop.

memory.py STEPSCOPE [SECONDS]: the program, built for release, and for how long (120). The node exporter is Debian's package
prometheus-node-exporter, with its defaults. Prints the mean of the second half of the readings and their peak (VmHWM).
"""

import re
import socket
import statistics
import subprocess
import sys
import time
import urllib.request

AIM_MIB = 20


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def status(pid, key):
    """MiB of a line of /proc/PID/status."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(rf"^{key}:\s+(\d+) kB", file.read(), re.MULTILINE).group(1)) / 1024


def cpu_ms(pid):
    """Processor time so far."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return 10 * (int(fields[11]) + int(fields[12]))


def scrape(port):
    for _ in range(100):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                return answer.read()
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"nothing answers at port {port}")


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 120
    ports = [free_port(), free_port()]
    lines = {
        "stepscope monitor": [sys.argv[1], "monitor", "--listen", f"127.0.0.1:{ports[0]}"],
        "node exporter": ["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{ports[1]}"],
    }
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    programs = {name: subprocess.Popen(line, **quiet) for name, line in lines.items()}
    try:
        resident = {name: [] for name in programs}
        texts = {}
        for (_, program), port in zip(programs.items(), ports):
            scrape(port)
        before = {name: cpu_ms(program.pid) for name, program in programs.items()}
        for _ in range(seconds):
            for (name, program), port in zip(programs.items(), ports):
                texts[name] = scrape(port)
                resident[name].append(status(program.pid, "VmRSS"))
            time.sleep(1)
        for name, program in programs.items():
            series = sum(1 for line in texts[name].splitlines() if line and not line.startswith(b"#"))
            mean = statistics.mean(resident[name][seconds // 2 :])
            peak = status(program.pid, "VmHWM")
            used = (cpu_ms(program.pid) - before[name]) / seconds
            print(f"{name}: {mean:.1f} MiB, at most {peak:.1f}; {series} series; {used:.1f} ms of processor time a scrape")
            if name == "stepscope monitor":
                print(f"  aim {AIM_MIB} MiB: {'reached' if peak <= AIM_MIB else 'missed'}")
    finally:
        for program in programs.values():
            program.kill()


if __name__ == "__main__":
    main()
