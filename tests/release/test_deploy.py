"""Files for Compose, Prometheus, Grafana and Kubernetes: they fit the program, and services work together."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from happycity_server.config import load_settings

ROOT = Path(__file__).parents[2]
COMPOSE = YAML(typ="safe").load(ROOT / "compose.yaml")["services"]
DASHBOARD = json.loads((ROOT / "deploy/grafana/happycity.json").read_text())
EXPRESSIONS = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
DEADLINE = 60.0


def test_server_of_compose_is_reached_on_its_machine_only() -> None:
    """Its settings are valid, it listens where the ports lead, and the ports are those of loopback."""
    server = COMPOSE["server"]
    settings = load_settings({}, server["environment"] | {"HAPPYCITY_SERVE_LISTEN": "0.0.0.0:50051"})
    assert settings.insecure
    listening = {settings.listen, settings.web}
    assert {f"0.0.0.0:{port.rpartition(':')[2]}" for port in server["ports"]} == listening
    assert all(
        port.startswith("127.0.0.1:") for service in COMPOSE.values() for port in service.get("ports", [])
    )


def kustomized(folder: str) -> dict[str, Any]:
    """Return what `kubectl` makes of a folder, by kind."""
    command = ["kubectl", "kustomize", str(ROOT / "deploy" / folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return {document["kind"]: document for document in YAML(typ="safe").load_all(done.stdout)}


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubernetes_gets_one_server_that_is_not_root_and_workers() -> None:
    """All are of this version; the server's settings are valid, workers reach it with a token."""
    documents = kustomized("kubernetes")
    spec = documents["StatefulSet"]["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert documents["StatefulSet"]["spec"]["replicas"] == 1
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert container["image"] == f"happycity:{version}"
    assert f"USER {spec['securityContext']['runAsUser']}:" in (ROOT / "Dockerfile").read_text()
    settings = load_settings({}, {each["name"]: each["value"] for each in container["env"]})
    assert {str(settings.tokens.parent)} < {mount["mountPath"] for mount in container["volumeMounts"]}
    assert settings.grace < spec["terminationGracePeriodSeconds"]

    (workload,) = kustomized("kubernetes-workers").values()
    (worker,) = workload["spec"]["template"]["spec"]["containers"]
    assert (worker["image"], worker["args"]) == (f"happycity:{version}", ["worker"])
    own = {each["name"]: each["value"] for each in worker["env"]}
    service = documents["Service"]
    port = next(each["port"] for each in service["spec"]["ports"] if each["name"] == "grpc")
    assert own["HAPPYCITY_SERVER"] == f"{service['metadata']['name']}:{port}"
    assert own["HAPPYCITY_TOKEN_FILE"].startswith(worker["volumeMounts"][1]["mountPath"])
    # Else the service would send its callers to workers, too.
    labels = workload["spec"]["template"]["metadata"]["labels"]
    assert not service["spec"]["selector"].items() <= labels.items()


WITHOUT = ("happycity_ladder_", "happycity_token_", "happycity_certificate_")
"""Metrics that a server without a ladder, tokens and certificate doesn't have."""


@pytest.mark.thorough
@pytest.mark.skipif(
    shutil.which("prometheus") is None, reason="Prometheus is missing: python -m tools install prometheus"
)
def test_services_of_compose_work_together(tmp_path: Path) -> None:
    """Their commands run as processes: bots connect, Prometheus reads all that panels and alarms show."""
    with ExitStack() as stack:
        addresses = stack.enter_context(_server(tmp_path))
        environment = {"HAPPYCITY_SERVER": addresses["listening"]}
        stack.enter_context(_process("happycity", *COMPOSE["bots"]["command"], environment=environment))
        prometheus = stack.enter_context(_prometheus(tmp_path, addresses["metrics"]))
        _wait_for(prometheus, 'up{job="happycity"} == 1')
        _wait_for(prometheus, 'happycity_bots{state="connected"} == 2')
        for expression in EXPRESSIONS:
            _query(prometheus, expression)
        with urllib.request.urlopen(f"http://{addresses['metrics']}/metrics") as response:
            served = set(re.findall(r"^# TYPE (\S+)", response.read().decode(), re.MULTILINE))
        rules = (ROOT / "deploy/alerts.yml").read_text()
        used = set(re.findall(r"\b(?:happycity|process)_\w+", " ".join([*EXPRESSIONS, rules])))
        wanted = {name.removesuffix("_bucket") for name in used if not name.startswith(WITHOUT)}
        assert wanted <= served


@contextmanager
def _process(module: str, *arguments: str, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()


@contextmanager
def _server(folder: Path) -> Iterator[dict[str, str]]:
    """Run the service with free ports, and what its image sets; yield its addresses."""
    environment = {
        **COMPOSE["server"]["environment"],
        "HAPPYCITY_SERVE_LISTEN": "127.0.0.1:0",
        "HAPPYCITY_SERVE_WEB": "127.0.0.1:0",
        "HAPPYCITY_SERVE_METRICS": "127.0.0.1:0",
        "HAPPYCITY_SERVE_STORE": f"sqlite:///{folder}/happycity.sqlite",
    }
    with _process("happycity", "serve", environment=environment) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())


@contextmanager
def _prometheus(folder: Path, target: str) -> Iterator[str]:
    """Run Prometheus by the configuration of compose.yaml, for a server on a free port; yield its address."""
    configuration = (ROOT / "deploy/prometheus.yml").read_text()
    assert "server:9464" in configuration
    config = folder / "prometheus.yml"
    config.write_text(configuration.replace("server:9464", target).replace("interval: 5s", "interval: 1s"))
    shutil.copy(ROOT / "deploy/alerts.yml", folder)
    subprocess.run(["promtool", "check", "config", config], check=True, stdout=subprocess.DEVNULL)
    command = [
        *("prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/prometheus"),
        *("--web.listen-address=127.0.0.1:0", "--log.format=json"),
    ]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            lines = (json.loads(line) for line in process.stderr)
            address = next(line["address"] for line in lines if line.get("msg") == "Listening on")
            next(line for line in lines if "ready to receive" in line.get("msg", ""))
            yield address
        finally:
            process.terminate()
            process.stderr.read()


def _query(prometheus: str, expression: str) -> list[Any]:
    query = urllib.parse.urlencode({"query": expression})
    with urllib.request.urlopen(f"http://{prometheus}/api/v1/query?{query}", timeout=DEADLINE) as response:
        result: list[Any] = json.load(response)["data"]["result"]
    return result


def _wait_for(prometheus: str, expression: str) -> None:
    """Wait until something is so; Prometheus reports nothing by itself."""
    deadline = time.monotonic() + DEADLINE
    while not _query(prometheus, expression):
        assert time.monotonic() < deadline, expression
        time.sleep(0.1)
