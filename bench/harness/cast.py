"""Who takes part: pawl, the floors, and the peers, which are built here."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from harness.processes import Failure

SOURCES = Path(__file__).resolve().parent.parent


class Who:
    def __init__(self, name, command, scheme, warm_up=0.2, polls=False, options=""):
        self.name, self.command, self.scheme, self.warm_up, self.polls = name, command, scheme, warm_up, polls
        self.options = options  # behind the URL


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else "it says nothing"


def run_or_fail(command, **options):
    if not shutil.which(command[0]):
        raise Failure(f"{command[0]} is not installed")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, **options)
    except subprocess.TimeoutExpired:
        raise Failure(f"{command[0]} takes too long") from None
    if done.returncode != 0:
        said = done.stderr + done.stdout
        errors = [line for line in said.splitlines() if "ERROR" in line]
        raise Failure(f"{command[0]} fails: " + (errors[0].strip() if errors else last_line(said)))
    return done.stdout


def make_redis_py(_):
    python = "/usr/bin/python3"
    version = run_or_fail([python, "-c", "import redis; print(redis.__version__)"]).strip()
    return Who("redis-py", [python, str(SOURCES / "peers/redis_py.py")], "lock", polls=True), version


def make_go(scheme, module, polls):
    def make(cache):
        folder = SOURCES / "peers/go"
        program = cache / "go_peer"
        run_or_fail(["go", "build", "-o", str(program), "."], cwd=folder)
        version = re.search(re.escape(module) + r" v(\S+)", (folder / "go.mod").read_text()).group(1)
        return Who(scheme, [str(program)], scheme, warm_up=0.5, polls=polls), version

    return make


def make_redisson(program="RedissonPeer", polls=False):
    def make(cache):
        folder = SOURCES / "peers/java"
        target = cache / "redisson"
        run_or_fail(["mvn", "-q", "-B", "-f", str(folder / "pom.xml"), f"-Dpeer.target={target}", "package"])
        version = re.search(r"redisson</artifactId>\s*<version>([^<]+)", (folder / "pom.xml").read_text()).group(1)
        command = ["java", "-Xmx512m", "-cp", f"{target}/classes:{target}/lib/*", program]
        return Who("redisson", command, "lock", warm_up=4, polls=polls), version

    return make


def make_npm(name, module):
    def make(cache):
        folder, target = SOURCES / "peers/npm", cache / "npm"  # a program finds its packages beside itself
        shutil.copytree(folder, target, dirs_exist_ok=True)
        run_or_fail(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=target)
        version = re.search(f'"{module}": "[^0-9]*([0-9][^"]*)"', (folder / "package.json").read_text()).group(1)
        return Who(name, ["node", str(target / "redlock.js")], module, warm_up=0.5, polls=True), version

    return make


def make_curator(cache):
    folder = SOURCES / "peers/java"
    target = cache / "curator"
    jars = Path("/usr/share/java/curator-recipes.jar").resolve()
    if not jars.exists():
        raise Failure(f"there is no {jars} (Debian: libcurator-recipes-java)")
    # The first jar names those that it needs, but not to the compiler: it is told all.
    path = f"{jars}:{jars.parent}/curator-framework.jar:{jars.parent}/curator-client.jar:{jars.parent}/zookeeper.jar"
    path += f":{jars.parent}/slf4j-simple.jar"
    sources = [str(folder / name) for name in ("Participant.java", "CuratorPeer.java")]
    run_or_fail(["javac", "-nowarn", "-cp", path, "-d", str(target)] + sources)
    versions = [re.search(r"-([0-9.]+)\.jar$", name.name) for name in jars.parent.glob("curator-recipes-*.jar")]
    command = ["java", "-Xmx512m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", f"{target}:{path}"]
    return Who("curator", command + ["CuratorPeer"], "lock", warm_up=4), versions[0].group(1) if versions else "?"


class Cast:
    """Everybody who takes part, and who is missing, and why."""

    def __init__(self, subject, build, names, cache, tell):
        worker, floor = str(build / "bench/worker"), str(build / f"bench/{subject.store}_floor")
        for program in (worker, floor):
            if not os.access(program, os.X_OK):
                raise Failure(f"{program} is missing: cmake --build --preset release -t pawl_bench")
        options = subject.options
        self.pawl = {scheme: Who(f"pawl {scheme}", [worker], scheme, options=options) for scheme in subject.schemes}
        self.floor = {scheme: Who(f"floor {scheme}", [floor], scheme) for scheme in subject.floors}
        self.queue, self.queue_floor = self.pawl[subject.schemes[0]], self.floor[subject.queue_floor]
        self.peers, self.versions, self.missing = [], {}, {}
        self.peers += [Who(scheme, [floor], scheme, polls=True) for scheme in subject.polling]
        cache.mkdir(parents=True, exist_ok=True)
        for name in names:
            tell(f"building {name}")
            try:
                who, self.versions[name] = subject.peers[name](cache)
                self.peers.append(who)
            except (Failure, OSError) as error:
                self.missing[name] = str(error)
