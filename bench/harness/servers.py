"""The servers: real ones, on a free port of the loopback."""

import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

from harness.processes import PATIENCE, Failure


class Server:
    """Until it answers. Its log and its data are in a folder that goes with the run."""

    def __init__(self, children, folder, program, words):
        if not shutil.which(program):
            raise Failure(f"there is no {program}")
        with open(os.path.join(folder, "server.log"), "wb") as log:
            self.process = children.start([program] + words, stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                said = Path(folder, "server.log").read_text(errors="replace").strip().splitlines()
                raise Failure(f"{program} does not start" + (f": {said[-1]}" if said else ""))
            time.sleep(0.02)

    def place(self, cores):
        for thread in os.listdir(f"/proc/{self.process.pid}/task"):
            os.sched_setaffinity(int(thread), cores)

    def say(self, word):
        """What it answers, or nothing."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as line:
                line.sendall(word)
                return line.recv(1 << 12)
        except OSError:
            return b""


class RedisServer(Server):
    """It writes nothing to disk."""

    warm_up = 0

    def __init__(self, children, folder, _):
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        words = ["--bind", "127.0.0.1", "--port", str(self.port), "--dir", folder, "--maxclients", "8000"]
        super().__init__(children, folder, "redis-server", words + ["--save", "", "--appendonly", "no"])

    def answers(self):
        return self.say(b"PING\r\n").startswith(b"+PONG")

    def version(self):
        words = subprocess.run(["redis-server", "--version"], capture_output=True, text=True).stdout
        return re.search(r"v=(\S+)", words).group(1)


class RedisNodes:
    """Five of them, that know nothing of each other."""

    warm_up = 0
    count = 5

    def __init__(self, children, folder, arguments):
        folders = [os.path.join(folder, f"node{index}") for index in range(self.count)]
        for each in folders:
            os.mkdir(each)
        self.nodes = [RedisServer(children, each, arguments) for each in folders]
        self.url = "redlock://" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def place(self, cores):
        for node in self.nodes:
            node.place(cores)

    def version(self):
        return f"{self.nodes[0].version()}, {self.count} of them"

    def signal(self, which, number):
        for index in which:
            self.nodes[index].process.send_signal(number)


class ZooKeeperServer(Server):
    """Standalone, with Debian's jars; the environment variable PAWL_ZOOKEEPER_CLASSPATH names others. As in production it
    waits for the disk, unless it is told not to."""

    warm_up = 8  # seconds: it is compiled while it runs
    jars = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar"

    def __init__(self, children, folder, arguments):
        self.port = free_port()
        self.url = f"zookeeper://127.0.0.1:{self.port}"
        self.fsync = not arguments.no_fsync
        # Nobody answers for some sessions while others are measured: they may be long.
        Path(folder, "zoo.cfg").write_text(f"""dataDir={folder}/data
clientPort={self.port}
clientPortAddress=127.0.0.1
tickTime=2000
maxSessionTimeout=3600000
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=srvr
""")
        words = ["-Xmx1g", "-XX:-UsePerfData", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
        words += [f"-Dzookeeper.forceSync={'yes' if self.fsync else 'no'}"]
        words += ["-cp", os.environ.get("PAWL_ZOOKEEPER_CLASSPATH", self.jars)]
        words += ["org.apache.zookeeper.server.quorum.QuorumPeerMain", f"{folder}/zoo.cfg"]
        super().__init__(children, folder, "java", words)

    def answers(self):
        return b"Mode: " in self.say(b"srvr")

    def version(self):
        found = re.search(rb"version: ([0-9.]+)", self.say(b"srvr"))
        return (found.group(1).decode() if found else "?") + ("" if self.fsync else ", without fsync")


class EtcdServer(Server):
    """One member; the environment variable PAWL_ETCD names another program. As in production it waits for the disk, unless
    it is told not to."""

    warm_up = 0

    def __init__(self, children, folder, arguments):
        self.port = free_port()
        self.url = f"etcd://127.0.0.1:{self.port}"
        self.fsync = not arguments.no_fsync
        self.program = os.environ.get("PAWL_ETCD", "etcd")
        client, peer = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{free_port()}"
        words = ["--data-dir", f"{folder}/data", "--listen-client-urls", client, "--advertise-client-urls", client]
        words += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}"]
        words += ["--logger", "zap", "--log-level", "error"] + ([] if self.fsync else ["--unsafe-no-fsync"])
        super().__init__(children, folder, self.program, words)

    def answers(self):
        return b'"health":"true"' in self.say(b"GET /health HTTP/1.0\r\n\r\n")

    def version(self):
        words = subprocess.run([self.program, "--version"], capture_output=True, text=True).stdout
        return re.search(r"etcd Version: (\S+)", words).group(1) + ("" if self.fsync else ", without fsync")


class MysqlServer(Server):
    """mariadbd, with data of its own. As in production it waits for the disk at each commit, unless it is told not to."""

    warm_up = 0

    def __init__(self, children, folder, arguments):
        self.port = free_port()
        self.url = f"mysql://pawl:secret@127.0.0.1:{self.port}/pawl"
        self.fsync = not arguments.no_fsync
        user = ["--user=root"] if os.geteuid() == 0 else []
        words = ["--no-defaults", f"--datadir={folder}/data", f"--tmpdir={folder}", "--skip-test-db"]
        made = subprocess.run(["mariadb-install-db", *words, "--auth-root-authentication-method=normal", *user],
                              capture_output=True, text=True)
        if made.returncode != 0:
            raise Failure(f"mariadb-install-db fails: {made.stdout}{made.stderr}")
        Path(folder, "init.sql").write_text("CREATE DATABASE IF NOT EXISTS pawl;\n"
                                            "CREATE USER IF NOT EXISTS pawl@'%' IDENTIFIED BY 'secret';\n"
                                            "GRANT ALL ON pawl.* TO pawl@'%';\n")
        words = [*words[:3], f"--socket={folder}/socket", f"--pid-file={folder}/pid", f"--port={self.port}",
                 "--bind-address=127.0.0.1", "--skip-name-resolve", "--skip-log-bin", f"--init-file={folder}/init.sql",
                 "--max-connections=4000", "--back-log=4000", f"--innodb-flush-log-at-trx-commit={int(self.fsync)}", *user]
        super().__init__(children, folder, "mariadbd", words)

    def answers(self):
        return b"mysql_native_password" in self.say(b"")

    def version(self):
        words = subprocess.run(["mariadbd", "--version"], capture_output=True, text=True).stdout
        return "MariaDB " + re.search(r"Ver ([0-9.]+)", words).group(1) + ("" if self.fsync else ", without fsync")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
