"""A Countersign registry on disk, served on loopback by the same binary, for the scripts beside this one."""
import json, os, re, subprocess, sys, time, urllib.request


def ask(address, path, token=None, body=None):
    headers = {"Content-Type": "application/json", **({"Authorization": "Bearer " + token} if token else {})}
    with urllib.request.urlopen(urllib.request.Request(address + path, body and body.encode(), headers)) as answer:
        return json.load(answer)


def serve(binary, folder):
    """The registry in `folder`, served; the process and the environment of a client."""
    data = folder / "registry"
    with open(folder / "log", "w") as log:
        server = subprocess.Popen([binary, "serve", data, "--listen", "127.0.0.1:0"], stdout=log, stderr=log)
    address = None
    while address is None:
        time.sleep(0.05)
        address = re.search(r"listening on (http://[0-9.:]+)", (folder / "log").read_text())
        if server.poll() is not None:
            sys.exit((folder / "log").read_text())
    return server, dict(COUNTERSIGN_SERVER=address[1], COUNTERSIGN_TOKEN=(data / "admin-token").read_text().strip(),
                        COUNTERSIGN_CONFIG_DIR=str(folder / "config"), COUNTERSIGN_DATA_DIR=str(folder / "data"))


def in_force(binary, folder, flags):
    """A fresh registry in `folder` with flags `bench.flags.kN` of 100 bytes in force in `dev`; its process, address and admin's token."""
    texts = folder / "texts"
    texts.mkdir()
    for number in range(flags):
        (texts / f"k{number}.md").write_text("x" * 100)
    subprocess.run([binary, "init", folder / "registry"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    server, environment = serve(binary, folder)
    address, token = environment["COUNTERSIGN_SERVER"], environment["COUNTERSIGN_TOKEN"]
    subprocess.run([binary, "import", "dir", texts, "--namespace", "bench.flags", "--env", "dev"], check=True,
                   env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while opened := ask(address, "/v1/promotions?state=open&limit=100", token)["items"]:
        for row in opened:
            ask(address, f"/v1/promotions/{row['promotion_id']}/apply", token, '{"rationale": "measured"}')
    return server, address, token
