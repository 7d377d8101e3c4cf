"""Certificates for servers that others reach, made by an authority of the server's own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from happycity import ConfigError

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
"""Names of the server on its own machine, which every certificate has."""
_MAX_NAME = 253  # characters of a host's name in DNS
_CLOCK_SKEW = timedelta(hours=1)


def make_certificates(hosts: Sequence[str], *, now: datetime, days: int) -> tuple[str, str, str]:
    """Make a certificate that is valid for hosts, by name or address, and for the server's own machine.

    Returns that of its authority, which clients trust, the certificate, and its key, which is secret; all in
    PEM. The key of the authority is kept nowhere, so it signs nothing else. ConfigError if a host is neither
    a name of DNS nor an address.
    """
    names = [_general_name(host) for host in dict.fromkeys((*hosts, *LOCAL_HOSTS))]
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = _name("Happy City server's own authority")
    period = now - _CLOCK_SKEW, now + timedelta(days=days)

    def builder(subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        return x509.CertificateBuilder(
            issuer, subject, public, x509.random_serial_number(), *period
        ).add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)

    ca = (
        builder(issuer, ca_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(ca_key, SHA256())
    )
    cert = (
        builder(_name("Happy City server"), key.public_key())
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False
        )
        .sign(ca_key, SHA256())
    )
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    trusted, own = (one.public_bytes(Encoding.PEM).decode() for one in (ca, cert))
    return trusted, own, secret.decode()


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        pass
    labels = host.split(".")
    if len(host) > _MAX_NAME or not all(
        label.isascii() and label.replace("-", "").isalnum() and len(label) < 64 for label in labels
    ):
        raise ConfigError(
            f"--host: {host[:80]!r} is neither a name such as arena.example nor an address such as "
            "203.0.113.7; leave out scheme and port"
        )
    return x509.DNSName(host)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _usage(*, signs: bool) -> x509.KeyUsage:
    others = ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement")
    unused = dict.fromkeys((*others, "encipher_only", "decipher_only"), False)
    return x509.KeyUsage(digital_signature=not signs, key_cert_sign=signs, crl_sign=signs, **unused)
