#!/usr/bin/env python3
"""OFREP answers beside the PyPI server `fast-feature`, in one run: single and in bulk, 200 flags of 100 bytes each.

usage: benches/ofrep.py [--flags 200] [--seconds 4] [--rounds 3] [--binary target/dist/countersign]

Needs the program as packages hold it (`cargo build --profile dist`), `wrk`, and the Python packages fast-feature and uvicorn[standard]. Both servers hold the same flags and are
asked with the same context by the same `wrk`, turn by turn; fast-feature keeps them in memory, Countersign serves a registry on disk.
Figures are medians of the rounds in answers a second.
"""
import argparse, json, pathlib, statistics, subprocess, sys, tempfile, time
from served import ask, in_force

PEER = """
import sys, uvicorn
from fastapi import FastAPI
from fast_feature.core import Flag
from fast_feature.ofrep import OfrepRouter
from fast_feature.storage.inmemory import InMemoryFlagRepository
flags = [Flag(key=f"bench.flags.k{n}", variants={"on": "x" * 100}, default_variant="on") for n in range(int(sys.argv[1]))]
app = FastAPI()
app.include_router(OfrepRouter.build(InMemoryFlagRepository(flags)))
uvicorn.run(app, port=int(sys.argv[2]), log_level="critical", access_log=False)
"""
BULK = "/ofrep/v1/evaluate/flags"
CONTEXT = json.dumps({"context": {"targetingKey": "user-17"}})
SCRIPT = """
wrk.method = "POST"
wrk.body = '%s'
wrk.headers["Content-Type"] = "application/json"
%s
done = function(summary) io.stderr:write(string.format("%%d %%f", summary.requests, summary.duration / 1e6)) end
"""


def rate(address, path, seconds, folder, token=None):
    script = folder / "ask.lua"
    script.write_text(SCRIPT % (CONTEXT, f'wrk.headers["Authorization"] = "Bearer {token}"' if token else ""))
    done = subprocess.run(["wrk", "-t1", "-c8", f"-d{seconds}s", "-s", str(script), address + path], capture_output=True, text=True, check=True)
    if "Non-2xx" in done.stdout:
        sys.exit(f"{address}{path} refuses:\n{done.stdout}")
    requests, took = done.stderr.split()
    return int(requests) / float(took)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--flags", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--binary", default="target/dist/countersign")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        server, address, token = in_force(str(pathlib.Path(options.binary).resolve()), folder, options.flags)
        peer = subprocess.Popen([sys.executable, "-c", PEER, str(options.flags), "8117"])
        try:
            theirs = "http://127.0.0.1:8117"
            for _ in range(100):
                try:
                    ask(theirs, BULK, body=CONTEXT)
                    break
                except OSError:
                    time.sleep(0.1)
            counts = [len(ask(*who, body=CONTEXT)["flags"]) for who in [(theirs, BULK), (address + "/env/dev", BULK, token)]]
            print(f"flags in a bulk answer: fast-feature {counts[0]}, ours {counts[1]}")
            for what, path in [("single", BULK + "/bench.flags.k7"), ("bulk", BULK)]:
                both = lambda: (rate(theirs, path, options.seconds, folder), rate(address + "/env/dev", path, options.seconds, folder, token))
                pairs = [both() for _ in range(options.rounds)]
                bare, mine = (statistics.median(side) for side in zip(*pairs))
                print(f"{what:7} fast-feature {bare:8.0f}/s   ours {mine:8.0f}/s   {mine / bare:.1f}x")
        finally:
            server.terminate()
            peer.terminate()


if __name__ == "__main__":
    main()
