#!/usr/bin/env python3
"""A kill until the answer has changed, beside Unleash (npm `unleash-server` on PostgreSQL) in the same run.

usage: benches/kill.py [--rounds 75] [--unleash DIR] [--binary target/dist/countersign]

Needs the program as packages hold it (`cargo build --profile dist`), npm, and PostgreSQL 15 (`.ci/with-postgres` installs it where
it is missing). Unleash and the Node that it asks for are installed into a temporary folder, or once into DIR with `--unleash DIR`.
Each server runs on loopback, durable, one after the other: Countersign's registry is on disk, Unleash has a PostgreSQL cluster of
its own, and its limits of requests a minute are lifted.

A round waits a random part of a second, so that no round keeps step with a server's own clock, sends the POST that switches off (a
kill; a toggle), and without waiting for what it says asks for the answer over a second kept connection, again and again, until the
answer has changed. The figure is the time from sending the POST to the end of the first changed answer. Client, rounds and warm-up
are the same for all. Unleash is asked as its SDKs ask: what a backend reads (/api/client/features) and what a browser reads
(/api/frontend); the better median counts. Its read of one single flag passes by its cache, but its SDKs do not ask it: it is
printed beside, and counts for nothing.
"""
import argparse, contextlib, http.client, json, os, pathlib, random, socket, statistics, subprocess, sys, tempfile, time
from served import ask, in_force

BAR, WARM_UP = 50, 5
PACKAGES = ["unleash-server@8.2.0", "node@22"]
ADMIN, BACKEND, BROWSER = "*:*.measures-admin", "*:development.measures-backend", "*:development.measures-browser"
FLAGS = ["flag-a", "flag-b"]
FEATURES = "/api/admin/projects/default/features"


class Kept:
    """A kept connection to a server at `address`."""

    def __init__(self, address, token):
        self.connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=30)
        self.headers = {"Authorization": token, "Content-Type": "application/json"}

    def send(self, method, path, body=None):
        self.connection.request(method, path, body, self.headers)

    def answer(self, path):
        answer = self.connection.getresponse()
        data = answer.read()
        if answer.status >= 300:
            sys.exit(f"{path}: {answer.status} {data[:400]}")
        return json.loads(data) if data else None

    def ask(self, method, path, body=None):
        self.send(method, path, body)
        return self.answer(path)


def wait(holds, limit=30):
    """Asks until `holds` says yes."""
    end = time.perf_counter() + limit
    while not holds():
        if time.perf_counter() > end:
            sys.exit("the answer did not change")


def measure(rounds, switch, posts, serves, restore=lambda number: None):
    """Milliseconds from the POST to the first changed answer, of each round after the warm-up. `posts` gives path and body of a
    round's POST, which goes over `switch`; `serves` asks over another connection whether that round's flag is still on."""
    times, chance = [], random.Random(7)
    for number in range(WARM_UP + rounds):
        wait(lambda: serves(number))
        time.sleep(chance.random())
        path, body = posts(number)
        began = time.perf_counter()
        switch.send("POST", path, body)
        wait(lambda: not serves(number))
        times.append((time.perf_counter() - began) * 1e3)
        switch.answer(path)
        restore(number)
    return times[WARM_UP:]


def ours(binary, folder, rounds):
    server, address, token = in_force(binary, folder, WARM_UP + rounds)
    try:
        switch, asks = Kept(address, f"Bearer {token}"), Kept(address, f"Bearer {token}")
        context, kill = json.dumps({"context": {"targetingKey": "user-17"}}), json.dumps({"reason": "test"})
        serves = lambda number: "value" in asks.ask("POST", f"/env/dev/ofrep/v1/evaluate/flags/bench.flags.k{number}", context)
        return measure(rounds, switch, lambda number: (f"/v1/keys/bench.flags.k{number}/pointers/dev/kill", kill), serves)
    finally:
        server.terminate()
        server.wait()


@contextlib.contextmanager
def postgres():
    """The address of a cluster that is gone afterwards."""
    cluster = pathlib.Path(__file__).resolve().parent.parent / ".ci" / "with-postgres"
    command = [cluster, "sh", "-c", 'echo "$TEST_POSTGRES_URL"; cat > /dev/null']
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as held:
        yield held.stdout.readline().strip() or sys.exit("no PostgreSQL")
        held.stdin.close()


@contextlib.contextmanager
def unleash(place, folder, database):
    """The address of an Unleash installed in `place`."""
    if not (place / "node_modules" / "unleash-server").exists():
        print(f"installing {' '.join(PACKAGES)}", file=sys.stderr)
        subprocess.run(["npm", "install", "--prefix", place, "--no-audit", "--no-fund", "--omit=dev", "--loglevel=error", *PACKAGES],
                       check=True, stdout=sys.stderr, env=dict(os.environ, SCARF_ANALYTICS="false"))
    modules = place / "node_modules"
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    environment = dict(
        os.environ, DATABASE_URL=database, DATABASE_SSL="false", HTTP_HOST="127.0.0.1", HTTP_PORT=address.rpartition(":")[2],
        NODE_ENV="production", LOG_LEVEL="error", CHECK_VERSION="false", INIT_ADMIN_API_TOKENS=ADMIN, INIT_BACKEND_API_TOKENS=BACKEND,
        INIT_FRONTEND_API_TOKENS=BROWSER, SERVER_KEEPALIVE_TIMEOUT="3600", SDK_API_RATE_LIMIT_PER_MINUTE="100000000",
        TOKEN_AUTHENTICATION_RATE_LIMIT_PER_MINUTE="100000000")
    with open(folder / "unleash.log", "w") as log:
        server = subprocess.Popen([modules / ".bin" / "node", modules / "unleash-server" / "dist" / "server.js"],
                                  stdout=log, stderr=log, env=environment)
    try:
        while True:
            try:
                ask(address, "/health")
                break
            except OSError:
                if server.poll() is not None:
                    sys.exit((folder / "unleash.log").read_text())
                time.sleep(0.2)
        yield address
    finally:
        server.terminate()
        server.wait()


def theirs(address, rounds):
    """The times of each way to ask Unleash."""
    switch = Kept(address, ADMIN)
    toggle = lambda name, word: f"{FEATURES}/{name}/environments/development/{word}"
    for name in FLAGS:
        switch.ask("POST", FEATURES, json.dumps({"name": name, "type": "release"}))
        strategy = json.dumps({"name": "flexibleRollout", "parameters": {"rollout": "100", "stickiness": "default", "groupId": name}})
        switch.ask("POST", f"{FEATURES}/{name}/environments/development/strategies", strategy)
        switch.ask("POST", toggle(name, "on"))
    backend, browser = Kept(address, BACKEND), Kept(address, BROWSER)
    enabled = lambda flags, name: any(flag["name"] == name and flag["enabled"] for flag in flags)
    ways = {
        "/api/client/features": lambda name: enabled(backend.ask("GET", "/api/client/features")["features"], name),
        "/api/frontend": lambda name: enabled(browser.ask("GET", "/api/frontend?userId=user-17")["toggles"], name),
        "one flag": lambda name: backend.ask("GET", f"/api/client/features/{name}")["enabled"],
    }
    # Two flags by turns: one comes back while the other is measured.
    flag = lambda number: FLAGS[number % 2]
    return {
        way: measure(rounds, switch, lambda number: (toggle(flag(number), "off"), None), lambda number: serves(flag(number)),
                     restore=lambda number: switch.ask("POST", toggle(flag(number), "on")))
        for way, serves in ways.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=75)
    parser.add_argument("--unleash", type=pathlib.Path)
    parser.add_argument("--binary", default="target/dist/countersign")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        mine = ours(str(pathlib.Path(options.binary).resolve()), folder, options.rounds)
        with postgres() as database, unleash((options.unleash or folder / "unleash").resolve(), folder, database) as address:
            peers = theirs(address, options.rounds)
    print(f"POST to the first changed answer, {options.rounds} rounds each")
    for who, times in {"countersign, OFREP": mine, **{f"unleash, {way}": times for way, times in peers.items()}}.items():
        cuts = statistics.quantiles(times, n=100, method="inclusive")
        print(f"  {who:30} p50 {statistics.median(times):7.2f} ms   p99 {cuts[98]:7.2f} ms")
    single = statistics.median(peers.pop("one flag"))
    mine = statistics.median(mine)
    better = min(map(statistics.median, peers.values()))
    print(f"  unleash's better median is {better / mine:.0f} times ours (bar: {BAR} at least); that of one flag {single / mine:.1f} times")


if __name__ == "__main__":
    main()
