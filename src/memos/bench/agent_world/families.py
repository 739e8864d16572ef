"""The families that repeat: each has one hidden rule and many members. Wording varies in its parameters, a little in itself."""

from __future__ import annotations

from memos.bench.agent_world.host import rule
from memos.bench.agent_world.members import Picker
from memos.bench.agent_world.problems import DEBIAN, ENVIRONMENTS, FEDORA, Family, Problem


def _python_package(p: Picker, held: bool, environments: tuple[str, ...], library: str) -> Problem:
    package, header, line = p.pick("packages", held), p.pick("headers", held), p.rng.randrange(3, 90)
    goal = p.rng.choice(
        (
            f"Install the Python package {package}",
            f"We need {package} on this machine, please install it with pip",
            f"Please pip install {package} for me",
            f"请安装 Python 包 {package}",
        )
    )
    error = p.rng.choice(
        (
            f"building '{package}._native' extension\n"
            f"  src/native.c:{line}:10: fatal error: {header}.h: No such file or directory\n"
            f"   {line} | #include <{header}.h>\n  compilation terminated.\nerror: command 'gcc' failed with exit code 1",
            f"In file included from {package}/ext.c:{line}:\n"
            f"{package}/ext.h:4:10: fatal error: {header}.h: No such file or directory\n"
            f"compilation terminated.\nERROR: Failed building wheel for {package}",
        )
    )
    rules = (
        rule(
            f"pip install {package}",
            needs=[f"has:{header}"],
            error=error,
            gives=["done"],
            output=f"Successfully installed {package}",
        ),
        rule(library.format(header), gives=[f"has:{header}"], output=f"Setting up {header} ({line}.1-2) ..."),
    )
    complaint = f"import {package} still fails here"
    return Problem(
        p.rng.choice(environments), goal, f"pip install {package}", rules, frozenset(), frozenset({"done"}), complaint
    )


def _headers_debian(p: Picker, held: bool) -> Problem:
    return _python_package(p, held, DEBIAN, "apt-get install lib{}-dev")


def _headers_fedora(p: Picker, held: bool) -> Problem:
    return _python_package(p, held, FEDORA, "dnf install {}-devel")


def _restart(p: Picker, held: bool) -> Problem:
    service, key, value = p.pick("services", held), p.pick("keys", held), p.rng.randrange(2, 90)
    goal = p.rng.choice(
        (
            f"Set {key} of {service} to {value}",
            f"Please change the {key} of {service} to {value}",
            f"{service} should have a {key} of {value}",
            f"请把 {service} 的 {key} 设为 {value}",
        )
    )
    rules = (
        rule(
            f"svcconf set {service} {key}={value}",
            gives=["pending"],
            takes=["done"],
            output=f"{service}: {key}={value} saved",
        ),
        rule(
            f"systemctl restart {service}",
            needs=["pending"],
            gives=["done"],
            output=f"{service}.service: active (running)",
        ),
        rule(
            f"svcconf show {service}",
            needs=["done"],
            error=f"{service} runs with {key}={value + 7}, but {value} is wanted",
        ),
    )
    complaint = p.rng.choice(
        (f"No, {service} still runs with the old {key}", f"That did not work, the {key} of {service} has not changed")
    )
    check = f"svcconf show {service}" if p.rng.random() < 0.5 else ""
    facts = frozenset({f"service:{service}", f"running:{service}"})
    command = f"svcconf set {service} {key}={value}"
    return Problem(p.rng.choice(ENVIRONMENTS), goal, command, rules, facts, frozenset({"done"}), complaint, check)


def _certificate(p: Picker, held: bool) -> Problem:
    service, number = p.pick("services", held), p.rng.randrange(100, 999)
    command = f"certs install {service} cert-{number}.pem"
    goal = p.rng.choice(
        (
            f"Install the new certificate cert-{number}.pem for {service}",
            f"{service} needs the certificate cert-{number}.pem, please put it in",
            f"Replace the certificate of {service} by cert-{number}.pem",
            f"请为 {service} 安装新证书 cert-{number}.pem",
        )
    )
    rules = (
        rule(command, gives=["pending"], takes=["done"], output="1 certificate installed"),
        rule(f"systemctl reload {service}", needs=["pending"], gives=["done"], output=f"{service}.service: reloaded"),
        rule(f"certs show {service}", needs=["done"], error=f"{service} presents an expired certificate"),
    )
    complaint = p.rng.choice(
        (f"No, {service} still shows the old certificate", f"Browsers still complain about {service}, it is not fixed")
    )
    check = f"certs show {service}" if p.rng.random() < 0.5 else ""
    facts = frozenset({f"service:{service}", f"running:{service}"})
    return Problem(p.rng.choice(ENVIRONMENTS), goal, command, rules, facts, frozenset({"done"}), complaint, check)


def _upgrade(p: Picker, held: bool) -> Problem:
    service, version, pid = (
        p.pick("services", held),
        f"{p.rng.randrange(2, 9)}.{p.rng.randrange(20)}",
        p.rng.randrange(300, 9000),
    )
    command = f"upgrade {service} {version}"
    goal = p.rng.choice(
        (
            f"Upgrade {service} to {version}",
            f"Please bring {service} to version {version}",
            f"{service} must be at version {version} today",
            f"请把 {service} 升级到 {version}",
        )
    )
    error = p.rng.choice(
        (
            f"upgrade: {service} is running (pid {pid}), refusing to replace its files",
            f"upgrade: cannot replace /opt/{service}/bin/{service}: text file busy, {service} is running (pid {pid})",
        )
    )
    stopped, running = f"stopped:{service}", f"running:{service}"
    rules = (
        rule(command, needs=[stopped], error=error, gives=["upgraded"], output=f"{service} {version} installed"),
        rule(
            f"systemctl stop {service}", gives=[stopped], takes=[running], output=f"{service}.service: inactive (dead)"
        ),
        rule(
            f"systemctl start {service}",
            gives=[running],
            takes=[stopped],
            output=f"{service}.service: active (running)",
        ),
        rule(
            f"systemctl restart {service}",
            gives=[running],
            takes=[stopped],
            output=f"{service}.service: active (running)",
        ),
        rule(
            f"curl http://{service}.internal/health",
            needs=[running],
            error=f"curl: (7) Failed to connect to {service}.internal",
        ),
    )
    complaint = p.rng.choice(
        (f"No, {service} is down since the upgrade", f"{service} does not answer any more, that is not fixed")
    )
    check = f"curl http://{service}.internal/health" if p.rng.random() < 0.5 else ""
    facts = frozenset({f"service:{service}", running})
    return Problem(
        p.rng.choice(ENVIRONMENTS), goal, command, rules, facts, frozenset({"upgraded", running}), complaint, check
    )


def _naming(p: Picker, held: bool) -> Problem:
    name, team = p.pick("names", held), p.pick("teams", held)
    goal = p.rng.choice(
        (
            f"Create a queue for {name}",
            f"We need the queue {name}, please create it",
            f"Make a new queue named {name}",
            f"请创建队列 {name}",
        )
    )
    error = p.rng.choice(
        (
            f"queue: invalid name '{name}': must begin with '{team}-'",
            f"queue: cannot create '{name}': names on this broker must begin with '{team}-'",
        )
    )
    rules = (
        rule(f"queue create {name}", needs=["never"], error=error),
        rule(f"queue create {team}-{name}", gives=["done"], output="queue created"),
    )
    complaint = f"I do not see any queue for {name}"
    return Problem(
        p.rng.choice(ENVIRONMENTS), goal, f"queue create {name}", rules, frozenset(), frozenset({"done"}), complaint
    )


def _read_only(p: Picker, held: bool) -> Problem:
    name, folder = p.pick("names", held), p.pick("folders", held)
    goal = p.rng.choice(
        (
            f"Write the report {name}.txt to {folder}",
            f"Please put the report {name}.txt into {folder}",
            f"Save {name}.txt under {folder}",
            f"请把报告 {name}.txt 写到 {folder}",
        )
    )
    error = p.rng.choice(
        (
            f"write: cannot create '{folder}/{name}.txt': Read-only file system",
            f"write: {folder}/{name}.txt: Read-only file system",
        )
    )
    rules = (
        rule(f"write {folder}/{name}.txt", needs=["never"], error=error),
        rule(f"write /var/overlay/{name}.txt", gives=["done"], output="1 file written"),
    )
    command = f"write {folder}/{name}.txt"
    complaint = f"I cannot find {name}.txt anywhere"
    return Problem(p.rng.choice(ENVIRONMENTS), goal, command, rules, frozenset(), frozenset({"done"}), complaint)


def _permission(p: Picker, held: bool) -> Problem:
    name = p.pick("names", held)
    goal = p.rng.choice(
        (
            f"Mount the volume {name}",
            f"Please mount {name} on this host",
            f"The volume {name} should be mounted",
            f"请挂载卷 {name}",
        )
    )
    error = p.rng.choice(
        (
            f"mount-volume: {name}: permission denied (are you root?)",
            f"mount-volume: cannot mount '{name}': permission denied",
        )
    )
    rules = (rule(f"mount-volume {name}", needs=["root"], error=error, gives=["done"], output=f"{name} mounted"),)
    complaint = f"{name} is not mounted"
    return Problem(
        p.rng.choice(ENVIRONMENTS), goal, f"mount-volume {name}", rules, frozenset(), frozenset({"done"}), complaint
    )


def _port(p: Picker, held: bool) -> Problem:
    service, port = p.pick("services", held), p.rng.randrange(3000, 9900)
    goal = p.rng.choice(
        (
            f"Serve {service} on port {port}",
            f"Please start the web front of {service} at port {port}",
            f"{service} should listen on {port}",
            f"请在端口 {port} 上启动 {service}",
        )
    )
    error = p.rng.choice(
        (
            f"Traceback (most recent call last):\nOSError: [Errno 98] Address already in use: ('0.0.0.0', {port})",
            f"{service}: starting\nOSError: [Errno 98] error while attempting to bind on address ('0.0.0.0', {port}): "
            "address already in use",
        )
    )
    rules = (
        rule(
            f"serve {service} --port {port}", needs=["free"], error=error, gives=["done"], output=f"listening on {port}"
        ),
        rule(f"free-port {port}", gives=["free"], output="1 process ended"),
        rule(f"purge-sockets {port}", output="sockets removed"),
    )
    complaint = f"nothing answers on port {port}"
    command = f"serve {service} --port {port}"
    return Problem(p.rng.choice(ENVIRONMENTS), goal, command, rules, frozenset(), frozenset({"done"}), complaint)


def _migration(p: Picker, held: bool) -> Problem:
    service, at = p.pick("services", held), p.rng.randrange(10, 80)
    goal = p.rng.choice(
        (
            f"Start the app {service}",
            f"Please get the {service} app running",
            f"The {service} app should be up",
            f"请启动应用 {service}",
        )
    )
    error = p.rng.choice(
        (
            f"RuntimeError: schema of '{service}' is at revision {at}, the code expects {at + 3}",
            f"loading {service}\nRuntimeError: '{service}': pending migrations, schema is at revision {at}",
        )
    )
    rules = (
        rule(f"app start {service}", needs=["migrated"], error=error, gives=["done"], output=f"{service} is up"),
        rule(f"db migrate {service}", gives=["migrated"], output="3 migrations applied"),
    )
    complaint = f"{service} is not up"
    return Problem(
        p.rng.choice(ENVIRONMENTS), goal, f"app start {service}", rules, frozenset(), frozenset({"done"}), complaint
    )


def _lock(p: Picker, held: bool) -> Problem:
    name, pid = p.pick("names", held), p.rng.randrange(300, 9000)
    goal = p.rng.choice(
        (
            f"Run the backup of {name}",
            f"Please back up {name} now",
            f"Make a fresh backup of {name}",
            f"请运行 {name} 的备份",
        )
    )
    error = p.rng.choice(
        (
            f"backup: cannot lock /var/lock/{name}.lock: held by pid {pid}",
            f"backup: could not get lock /var/lock/{name}.lock. It is held by process {pid}",
        )
    )
    rules = (
        rule(f"backup run {name}", needs=["free"], error=error, gives=["done"], output="backup written"),
        rule(f"unlock {name}", gives=["free"], output="lock released"),
        rule(f"rm -f /var/lock/{name}.lock", output=""),
    )
    complaint = f"there is no new backup of {name}"
    return Problem(
        p.rng.choice(ENVIRONMENTS), goal, f"backup run {name}", rules, frozenset(), frozenset({"done"}), complaint
    )


def _disk(p: Picker, held: bool) -> Problem:
    name, layer = p.pick("names", held), p.rng.randrange(1, 30)
    goal = p.rng.choice(
        (
            f"Build the image {name}",
            f"Please build the container image {name}",
            f"We need a new {name} image",
            f"请构建镜像 {name}",
        )
    )
    error = p.rng.choice(
        (
            f"image: write /var/lib/images/{name}/layer{layer}.tar: no space left on device",
            f"step {layer}/30\nimage: failed to copy files of {name}: no space left on device",
        )
    )
    rules = (
        rule(f"image build {name}", needs=["space"], error=error, gives=["done"], output="image built"),
        rule("cache prune", gives=["space"], output=f"freed {layer} GB"),
    )
    complaint = f"the image {name} is not there"
    return Problem(
        p.rng.choice(ENVIRONMENTS), goal, f"image build {name}", rules, frozenset(), frozenset({"done"}), complaint
    )


def _module(p: Picker, held: bool) -> Problem:
    name, tool, line = p.pick("names", held), p.pick("tools", held), p.rng.randrange(3, 200)
    goal = p.rng.choice(
        (
            f"Run the pipeline on {name}",
            f"Please process {name} with the pipeline",
            f"The pipeline must be run for {name}",
            f"请对 {name} 运行流水线",
        )
    )
    error = p.rng.choice(
        (
            f"pipeline.sh: line {line}: {tool}: command not found",
            f"pipeline: step {line}\n/bin/sh: {tool}: command not found",
        )
    )
    rules = (
        rule(f"pipeline {name}", needs=["loaded"], error=error, gives=["done"], output=f"{line} steps done"),
        rule(f"module load {tool}", gives=["loaded"], output=f"{tool} loaded"),
    )
    complaint = f"there are no results for {name}"
    return Problem(
        p.rng.choice(ENVIRONMENTS), goal, f"pipeline {name}", rules, frozenset(), frozenset({"done"}), complaint
    )


FAMILIES = (
    Family("headers, Debian", _headers_debian),
    Family("headers, Fedora", _headers_fedora),
    Family("restart", _restart, silent=True),
    Family("certificate", _certificate, silent=True),
    Family("upgrade", _upgrade),
    Family("naming", _naming),
    Family("read-only", _read_only),
    Family("permission", _permission),
    Family("port", _port),
    Family("migration", _migration),
    Family("lock", _lock),
    Family("disk", _disk),
    Family("module", _module),
)
