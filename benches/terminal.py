#!/usr/bin/env python3
"""The terminal beside tig and lazygit, in one run: first full frame, key to first byte, memory, idle bytes.

usage: benches/terminal.py [--keys 10000] [--rounds 9] [--presses 60] [--idle 10] [--keep DIR] [--binary target/dist/countersign]

Needs the program as packages hold it (`cargo build --profile dist`), git, tig, and the Python packages pyte, psutil and lazygit-py. Each program gets the same pseudo-terminal of
120x36. Countersign shows a registry of `--keys` imported keys (each leaves two audit rows or more) that is served on loopback by
the same binary; tig and lazygit show a repository of 2,000 commits that this script makes. The programs take turns, round by round,
so that a busy machine is busy for all of them. A frame is full when the list that the person came for fills its pane. Figures are
medians of the rounds; those of keys are of all presses. Memory is what all processes of a program hold resident, ours after every
key was listed and 10,000 audit rows were walked through. With `--keep` registry and repository stay in DIR for the next run.
"""
import argparse, fcntl, os, pathlib, pty, random, re, select, shutil, signal, struct, subprocess, sys, tempfile, termios, time
import psutil, pyte
from served import ask, serve

COLUMNS, ROWS = 120, 36
ANSWERS = {b"\x1b[6n": b"\x1b[1;1R", b"\x1b[c": b"\x1b[?62;22c", b"\x1b[0c": b"\x1b[?62;22c",
           b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\", b"\x1b]10;?": b"\x1b]10;rgb:ffff/ffff/ffff\x1b\\"}
WORDS = "answer cite policy refund billing never reveal internal notes ask customer language plan tone brief steps".split()


class Screen:
    """A program in a pseudo-terminal, and what its screen shows."""

    def __init__(self, command, folder, environment):
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self.stream = pyte.ByteStream(self.screen)
        self.seen = 0
        self.started = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update(environment, TERM="xterm-256color", COLORTERM="truecolor", LANG="C.UTF-8", LC_ALL="C.UTF-8")
            os.execvp(command[0], command)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def read(self, patience):
        """The moment at which bytes came, or None."""
        if not select.select([self.fd], [], [], patience)[0]:
            return None
        try:
            data = os.read(self.fd, 1 << 16)
        except OSError:
            return None
        at = time.perf_counter()
        self.seen += len(data)
        for question, answer in ANSWERS.items():
            if question in data:
                os.write(self.fd, answer)
        try:
            self.stream.feed(data)
        except TypeError:
            pass  # pyte does not know every private query
        return at

    def full(self, text, rows):
        return sum(text in line for line in self.screen.display) >= rows

    def wait_full(self, text, rows, limit=20):
        while time.perf_counter() - self.started < limit:
            at = self.read(0.02)
            if at and self.full(text, rows):
                return (at - self.started) * 1e3
        sys.exit(f"no {rows} rows with {text!r}:\n" + "\n".join(self.screen.display))

    def settle(self, quiet=0.3, limit=5):
        until = time.perf_counter() + limit
        while time.perf_counter() < until and self.read(quiet):
            pass

    def press(self, key):
        """Milliseconds from the key to the first byte that came back."""
        begin = time.perf_counter()
        os.write(self.fd, key)
        at = self.read(0.6)
        self.settle(0.02)
        return None if at is None else (at - begin) * 1e3

    def processes(self):
        first = psutil.Process(self.pid)
        return [first, *first.children(recursive=True)]

    def megabytes(self):
        return sum(p.memory_info().rss for p in self.processes()) / 2**20

    def end(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.kill(self.pid, number)
            except ProcessLookupError:
                break
            time.sleep(0.1)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Program:
    """One of the programs: how it is started, what its first full frame shows, and what was measured."""

    def __init__(self, name, command, folder, environment, text, rows, before):
        self.name, self.command, self.folder, self.environment = name, command, folder, environment
        self.text, self.rows, self.before = text, rows, before
        self.frames, self.waits, self.memory, self.idle = [], [], [], None

    def round(self, options, audit_rows=None):
        """Starts it, presses `j`, weighs it, ends it. With `audit_rows` (the last time) it reads these and is then left alone."""
        screen = Screen(self.command, self.folder, self.environment)
        self.frames.append(screen.wait_full(self.text, self.rows))
        screen.settle()
        for key in self.before:
            os.write(screen.fd, key)
            screen.settle(0.6)
        self.waits += [wait for _ in range(options.presses) if (wait := screen.press(b"j")) is not None]
        if audit_rows:
            screen.press(b"5")
            for number in range(audit_rows, max(0, audit_rows - 10_000), -250):
                os.write(screen.fd, b"%dG" % number)
                screen.settle(0.05)
        self.memory.append(screen.megabytes())
        if audit_rows:
            self.idle = quiet_bytes(screen, options.idle)
        screen.end()

    def found(self):
        return dict(frame=quantile(self.frames, 0.5), p50=quantile(self.waits, 0.5), p99=quantile(self.waits, 0.99),
                    # Only the last round of ours did all that memory is measured after.
                    memory=self.memory[-1] if self.idle is not None else quantile(self.memory, 0.5))


def quiet_bytes(screen, seconds):
    """What is written in so many seconds without input. Relative times are redrawn on the minute: it is a spell inside one."""
    time.sleep(max(0, 62 - time.time() % 60) if time.time() % 60 > 58 - seconds else 0)
    screen.settle()
    before, until = screen.seen, time.time() + seconds
    while time.time() < until:
        screen.read(0.2)
    return screen.seen - before


def make_repository(folder):
    """2,000 commits over 60 files, written with git fast-import."""
    chance = random.Random(7)
    subprocess.run(["git", "init", "-q", "-b", "main", folder], check=True)
    texts = {f"prompts/{n:02}.md": [" ".join(chance.choices(WORDS, k=12)) for _ in range(120)] for n in range(60)}
    out = []
    for number in range(2000):
        names = list(texts) if number == 0 else chance.sample(list(texts), 2)
        message = f"change {number}: " + " ".join(chance.choices(WORDS, k=6))
        out.append(f"commit refs/heads/main\ncommitter R{number % 7} <r{number % 7}@example.test> {1700000000 + number * 600} +0000\n"
                   f"data {len(message)}\n{message}\n")
        for name in names:
            texts[name][chance.randrange(120)] = " ".join(chance.choices(WORDS, k=12))
            text = "\n".join(texts[name]) + "\n"
            out.append(f"M 100644 inline {name}\ndata {len(text)}\n{text}\n")
    subprocess.run(["git", "-C", folder, "fast-import", "--quiet"], input="".join(out).encode(), check=True)
    subprocess.run(["git", "-C", folder, "reset", "-q", "--hard", "main"], check=True)


def make_registry(binary, folder, keys):
    """A registry with `keys` imported keys, of which a fortieth has a promotion that waits."""
    chance = random.Random(11)
    texts = folder / "texts"
    for number in range(keys):
        place = texts / f"team{number % 40:02}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"prompt-{number:05}.txt").write_text(" ".join(chance.choices(WORDS, k=40)) + "\n")
    subprocess.run([binary, "init", folder / "registry"], check=True, stdout=subprocess.DEVNULL)
    server, environment = serve(binary, folder)
    few = folder / "few"
    shutil.copytree(texts / "team00", few)
    for place, name, more in ((texts, "bench", []), (few, "waiting", ["--env", "dev"])):
        subprocess.run([binary, "import", "dir", place, "--namespace", name, *more], check=True,
                       env={**os.environ, **environment}, stdout=subprocess.DEVNULL)
    server.terminate()
    server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keys", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--presses", type=int, default=60)
    parser.add_argument("--idle", type=int, default=10)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("--binary", default="target/dist/countersign")
    options = parser.parse_args()
    binary = str(pathlib.Path(options.binary).resolve())
    lazygit = shutil.which("lazygit") or str(pathlib.Path(sys.executable).parent / "lazygit")
    with tempfile.TemporaryDirectory() as name:
        folder = (options.keep or pathlib.Path(name)).resolve()
        if not (folder / "ready").exists():
            folder.mkdir(parents=True, exist_ok=True)
            make_repository(str(folder / "repository"))
            make_registry(binary, folder, options.keys)
            # A greeting would lie over the list.
            (folder / "peers" / "lazygit").mkdir(parents=True)
            (folder / "peers" / "lazygit" / "config.yml").write_text("disableStartupPopups: true\nupdate: {method: never}\n")
            (folder / "ready").touch()
        server, environment = serve(binary, folder)
        peers = dict(HOME=str(folder / "peers"), XDG_CONFIG_HOME=str(folder / "peers"))
        repository = folder / "repository"
        programs = [Program("countersign", [binary], folder, environment, "waiting.prompt", 20, [b"2", b"\r", b"j", b"\r"]),
                    Program("tig", ["tig"], repository, peers, "change ", 20, []),
                    Program("lazygit", [lazygit], repository, peers, "change ", 4, [b"4"])]
        try:
            rows = ask(environment["COUNTERSIGN_SERVER"], "/v1/audit/head", environment["COUNTERSIGN_TOKEN"])["seq"]
            for number in range(options.rounds):
                for program in programs:
                    last = number + 1 == options.rounds and program is programs[0]
                    program.round(options, rows if last else None)
        finally:
            server.terminate()
            server.wait()
    ours, tig, other = (program.found() for program in programs)
    for program, found in zip(programs, (ours, tig, other)):
        print(f"{program.name:12} frame {found['frame']:7.1f} ms   key p50 {found['p50']:6.2f} p99 {found['p99']:6.2f} ms   "
              f"memory {found['memory']:6.1f} MB   {len(program.frames)} starts, {len(program.waits)} keys")
    print(f"ratios       frame / lazygit {ours['frame'] / other['frame']:.2f}   p99 / lazygit {ours['p99'] / other['p99']:.2f}   "
          f"p99 / tig {ours['p99'] / tig['p99']:.2f}   memory / lazygit {ours['memory'] / other['memory']:.2f}")
    print(f"idle         {programs[0].idle} bytes in {options.idle} s")


if __name__ == "__main__":
    main()
