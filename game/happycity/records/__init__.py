"""Game records: written, read, and checked by replay."""

from happycity.records.playback import Playback, Step
from happycity.records.record import (
    FORMAT,
    Json,
    Recorder,
    clock_json,
    dumps,
    incident_json,
    loads,
    metrics_json,
    state_json,
    trace,
)
from happycity.records.replay import (
    clock_of,
    config_of,
    deal_of,
    endings_of,
    incidents_of,
    metrics_of,
    replay,
    results_of,
)

__all__ = [
    "FORMAT",
    "Json",
    "Playback",
    "Recorder",
    "Step",
    "clock_json",
    "clock_of",
    "config_of",
    "deal_of",
    "dumps",
    "endings_of",
    "incident_json",
    "incidents_of",
    "loads",
    "metrics_json",
    "metrics_of",
    "replay",
    "results_of",
    "state_json",
    "trace",
]
