"""Files for Compose, Prometheus, Grafana and Kubernetes: they fit the program, and services work together."""

import json
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from happycity_server.config import load_settings

ROOT = Path(__file__).parents[2]
COMPOSE = YAML(typ="safe").load(ROOT / "compose.yaml")["services"]
DASHBOARD = json.loads((ROOT / "deploy/grafana/happycity.json").read_text())


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


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubernetes_gets_gateways_before_its_server() -> None:
    """They reach the server with a token, and their own service leads to them where they listen."""
    server = kustomized("kubernetes")["Service"]
    documents = kustomized("kubernetes-gateways")
    spec = documents["Deployment"]["spec"]["template"]
    (container,) = spec["spec"]["containers"]
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert (container["image"], container["args"][0]) == (f"happycity:{version}", "gateway")
    own = {each["name"]: each["value"] for each in container["env"]}
    port = next(each["port"] for each in server["spec"]["ports"] if each["name"] == "grpc")
    assert own["HAPPYCITY_SERVER"] == f"{server['metadata']['name']}:{port}"
    mounts = {each["mountPath"] for each in container["volumeMounts"]}
    files = [own["HAPPYCITY_TOKEN_FILE"], *(each.partition("=")[2] for each in container["args"][2:])]
    assert {str(Path(file).parent) for file in files} <= mounts
    (listening,) = container["ports"]
    assert container["args"][1].endswith(f":{listening['containerPort']}")
    service = documents["Service"]["spec"]
    assert service["ports"][0]["targetPort"] == listening["name"]
    assert service["selector"].items() <= spec["metadata"]["labels"].items()
    assert not server["spec"]["selector"].items() <= spec["metadata"]["labels"].items()


@pytest.mark.skipif(
    shutil.which("promtool") is None, reason="Prometheus is missing: python -m tools install prometheus"
)
def test_prometheus_takes_its_configuration_and_every_expression(tmp_path: Path) -> None:
    """Those of the alarms and of the dashboard's panels; `test_metrics.py` has whether they are served."""
    subprocess.run(["promtool", "check", "config", ROOT / "deploy/prometheus.yml"], check=True)
    assert COMPOSE["server"]["environment"]["HAPPYCITY_SERVE_METRICS"].endswith(":9464")
    expressions = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    groups = [
        {"name": f"{number}", "rules": [{"record": "panel", "expr": expression}]}
        for number, expression in enumerate(expressions)
    ]
    (tmp_path / "rules.json").write_text(json.dumps({"groups": groups}))
    subprocess.run(["promtool", "check", "rules", tmp_path / "rules.json"], check=True)
