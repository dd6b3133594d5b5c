"""How fast and how small a kernel is: measure.py BINARY.

Prints, with the bound that each must keep: time from start to the first reply, time from a request to idle,
memory of one kernel, and of thirty at once. Times are medians on a machine that does nothing else.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

N_REQUESTS = 1000
N_KERNELS = 30


def private_kib(pid):
    """Memory that this process shares with no other."""
    with open(f"/proc/{pid}/smaps_rollup") as lines:
        sizes = dict(line.split(":") for line in lines if line.startswith("Private"))
    return sum(int(size.split()[0]) for size in sizes.values())


def resident_kib(pid):
    with open(f"/proc/{pid}/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def execute(client, code):
    """Runs a cell; seconds until idle."""
    start = time.perf_counter()
    request = client.execute(code)
    while True:
        message = client.get_iopub_msg(timeout=30)
        if message["parent_header"].get("msg_id") == request and message["content"].get("execution_state") == "idle":
            break
    took = time.perf_counter() - start
    client.get_shell_msg(timeout=30)
    return took


def start(manager):
    begin = time.perf_counter()
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    return client, time.perf_counter() - begin


def first_reply(binary, folder):
    """Seconds from the start of the process to its first reply, without the waits of a Jupyter client."""
    import zmq
    from jupyter_client.connect import write_connection_file
    from jupyter_client.session import Session

    file, settings = write_connection_file(os.path.join(folder, "first.json"))
    session = Session(key=settings["key"].encode())
    shell = zmq.Context.instance().socket(zmq.DEALER)
    shell.setsockopt(zmq.RECONNECT_IVL, 1)
    begin = time.perf_counter()
    process = subprocess.Popen([binary, "run", file])
    shell.connect(f"tcp://{settings['ip']}:{settings['shell_port']}")
    session.send(shell, "kernel_info_request", {})
    shell.recv_multipart()
    took = time.perf_counter() - begin
    process.kill()
    process.wait()
    shell.close(0)
    return took


def main():
    binary = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([binary, "install", "--prefix", folder], check=True, stdout=subprocess.DEVNULL)
        os.environ["JUPYTER_PATH"] = os.path.join(folder, "share", "jupyter")
        from jupyter_client import KernelManager

        missed = []

        def report(what, value, bound, unit):
            ok = value <= bound
            if not ok:
                missed.append(what)
            print(f"{what:<44} {value:8.2f} {unit:<4} {'<=' if ok else 'MISSES'} {bound} {unit}")

        ready = [first_reply(binary, folder) for _ in range(10)]
        report("start to the first reply", statistics.median(ready), 0.3, "s")
        manager = KernelManager(kernel_name="porcini")
        client, _ = start(manager)
        times = sorted(execute(client, "1+1") for _ in range(N_REQUESTS))
        report("1+1 to idle, median of 1000", times[N_REQUESTS // 2] * 1e3, 1.0, "ms")
        print(f"{'  its 99th percentile':<44} {times[N_REQUESTS * 99 // 100] * 1e3:8.2f} ms")
        pid = manager.provisioner.pid
        report("memory of a kernel", resident_kib(pid) / 1024, 20, "MiB")
        client.stop_channels()
        manager.shutdown_kernel()

        begin = time.perf_counter()
        managers = [KernelManager(kernel_name="porcini") for _ in range(N_KERNELS)]
        clients = [start(manager)[0] for manager in managers]
        for client in clients:
            client.execute("hsum(sin(FloatC::linspace(0, 1, 100000)))")
        for client in clients:
            reply = client.get_shell_msg(timeout=60)
            assert reply["content"]["status"] == "ok", json.dumps(reply["content"])
        report("thirty kernels, each with a cell run", time.perf_counter() - begin, 60, "s")
        pids = [manager.provisioner.pid for manager in managers]
        report("memory of thirty kernels", sum(map(private_kib, pids)) / 1024, 30 * 20, "MiB")
        for manager, client in zip(managers, clients):
            client.stop_channels()
            manager.shutdown_kernel(now=True)
        sys.exit(f"missed: {', '.join(missed)}" if missed else 0)


main()
