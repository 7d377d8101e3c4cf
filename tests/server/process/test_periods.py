"""Certificates whose period is over, or has not begun: what the server logs, and what clients say."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest
import trustme
from structlog.testing import capture_logs

from happycity_runtime.transport import Access, Target
from happycity_runtime.unreachable import failure
from happycity_server.process.listening import log_periods

NOW = datetime.now(UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("first", "last", "event"),
    [
        (-DAY, 15 * DAY, None),
        (-DAY, 13 * DAY, "certificate_expires_soon"),
        (-2 * DAY, -DAY, "certificate_expired"),
        (DAY, 90 * DAY, "certificate_not_yet_valid"),
    ],
)
def test_the_server_logs_periods(
    tmp_path: Path, first: timedelta, last: timedelta, event: str | None
) -> None:
    leaf = trustme.CA().issue_cert("localhost", not_before=NOW + first, not_after=NOW + last)
    leaf.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    with capture_logs() as lines:
        log_periods(tmp_path / "cert.pem", NOW)
    assert [line["event"] for line in lines] == ([] if event is None else [event])


@pytest.mark.parametrize(
    ("host", "first", "last", "said"),
    [
        ("127.0.0.1", -2 * DAY, -DAY, " has expired (valid from "),
        ("127.0.0.1", DAY, 2 * DAY, " is not yet valid (valid from "),
        ("arena.example", -DAY, DAY, " is for another name"),
        ("", -DAY, DAY, " is not trusted; set HAPPYCITY_CA"),
    ],
)
async def test_clients_say_what_is_wrong(
    tmp_path: Path, host: str, first: timedelta, last: timedelta, said: str
) -> None:
    ca = trustme.CA()
    ca.cert_pem.write_to_path(tmp_path / "ca.pem")
    signing = ca if host else trustme.CA()
    leaf = signing.issue_cert(host or "127.0.0.1", not_before=NOW + first, not_after=NOW + last)
    server = grpc.aio.server()
    pair = leaf.private_key_pem.bytes(), leaf.cert_chain_pems[0].bytes()
    port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
    await server.start()
    target, access = Target(f"127.0.0.1:{port}", tls=True), Access(ca=tmp_path / "ca.pem")
    async with access.channel(target) as channel:
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary("/a/b")
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await call(b"")
    text = failure(target, failed.value, ca=access.ca)
    await server.stop(0)
    assert f"the certificate of {target.address}{said}" in text
    assert "\n" not in text
    assert ("this machine's clock says" in text) is ("valid from" in said)
