"""Kernels come and go: restarts.py N starts one kernel and restarts it N times, then thirty at once.

Nothing may be left: no process, no zombie, no file in the runtime folder, no open file in this process.
"""

import os
import sys
from pathlib import Path

from jupyter_client import KernelManager

N_AT_ONCE = 30


def start():
    manager = KernelManager(kernel_name="porcini")
    manager.start_kernel()
    return manager, connected(manager)


def connected(manager):
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    return client


def value(client, code):
    """The value that a cell shows."""
    shown = []

    def hook(message):
        if message["msg_type"] == "execute_result":
            shown.append(message["content"]["data"]["text/plain"])

    reply = client.execute_interactive(code, output_hook=hook, timeout=60)
    assert reply["content"]["status"] == "ok", reply["content"]
    return shown[-1] if shown else None


def children():
    """The processes that this one started and that have not gone, zombies too."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return [int(pid) for pid in listed.split()]


def main():
    n_restarts = int(sys.argv[1])
    manager, client = start()
    files = Path(manager.connection_file).parent
    pids = set()
    n_open = None
    for i in range(n_restarts):
        value(client, f"x = FloatC::arange({i + 2}) + 1;")
        manager.restart_kernel(now=i % 2 == 1)
        client.stop_channels()
        client = connected(manager)
        # Nothing of the session before is left.
        assert value(client, "len([1, 2, 3])") == "3"
        assert client.execute_interactive("x", output_hook=lambda _: None)["content"]["status"] == "error"
        assert len(children()) == 1, children()
        pids.add(manager.provisioner.pid)
        # The first restarts open what stays open.
        if i == 4:
            n_open = len(os.listdir("/proc/self/fd"))
    assert len(pids) > n_restarts // 2, f"{len(pids)} processes"
    assert n_open is None or len(os.listdir("/proc/self/fd")) <= n_open + 10, "open files are left"
    client.stop_channels()
    manager.shutdown_kernel()

    many = [start() for _ in range(N_AT_ONCE)]
    assert len(children()) == N_AT_ONCE
    requests = [client.execute("hsum(UInt64C::arange(100000))[0]") for _, client in many]
    assert len(set(requests)) == N_AT_ONCE
    for i, (manager, client) in enumerate(many):
        assert value(client, f"hsum(UInt32C::arange({i + 1}))[0]") == str(i * (i + 1) // 2)
    for i, (manager, client) in enumerate(many):
        client.stop_channels()
        manager.shutdown_kernel(now=i % 2 == 1)
    assert children() == [], children()
    assert list(files.glob("kernel-*")) == [], list(files.glob("kernel-*"))


main()
