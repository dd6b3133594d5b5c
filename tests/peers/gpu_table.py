"""The table of the GPU comparison: python3 gpu_table.py OURS.jsonl PEERS.jsonl > table.md

Each line of a file is one measurement: {"work", "peer", "ms"}; of several the median counts. A ratio is the best
peer's time over ours.
"""
import json
import statistics
import sys

# Milliseconds that moving the bytes takes at the speed of a large copy on the card, 4250 GB/s.
BYTES = {
    "tanh_1e8": 8e8,
    "fused10_1e8": 16e8,
    "ncross_3e7": 36 * 3e7,
    "hsum_1e8": 4e8,
    "gather_perm_3e7": 12 * 3e7,
    "scatter_perm_3e7": 12 * 3e7,
    "histogram1024_3e7": 8 * 3e7,
    "sigmoid_f16_2e8": 4 * 2e8,
}
COPY = 4250e9


def read(path):
    """The measurements of a file as {work: {peer: ms}}."""
    works = {}
    for line in open(path, encoding="utf-8"):
        if not line.startswith("{"):
            continue
        row = json.loads(line)
        if row.get("ms") is not None:
            works.setdefault(row["work"], {}).setdefault(row["peer"], []).append(row["ms"])
    return {
        work: {peer: statistics.median(times) for peer, times in peers.items()}
        for work, peers in works.items()
    }


def main(ours, peers):
    print("| work | ours, ms | best peer, ms | ratio | bytes floor, ms |")
    print("|---|---|---|---|---|")
    for work, times in ours.items():
        mine = min(times.values())
        others = peers.get(work, {})
        floor = f"{BYTES[work] / COPY * 1e3:.3f}" if work in BYTES else "–"
        if others:
            name = min(others, key=others.get)
            best = f"{others[name]:.4g} ({name})"
            ratio = f"{others[name] / mine:.2f}"
        else:
            best = ratio = "–"
        print(f"| {work} | {mine:.4g} | {best} | {ratio} | {floor} |")


if __name__ == "__main__":
    main(read(sys.argv[1]), read(sys.argv[2]))
