"""An authority for tests, and certificates of it."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_DAY = timedelta(days=1)


class Authority:
    """Signs certificates, in files below a folder."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        constraint = x509.BasicConstraints(ca=True, path_length=None)
        made = self._builder(self._name, self._key.public_key()).add_extension(constraint, critical=True)
        self.path = folder / f"{name}.pem"
        self.path.write_bytes(made.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))

    def certificate(self, file: str, *names: str, common: str = "test") -> tuple[Path, Path]:
        """The files of a certificate for names (addresses, URIs or DNS names) and of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(_named(common), key.public_key())
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(map(_general, names)), critical=False)
        cert_path, key_path = self._folder / f"{file}.pem", self._folder / f"{file}.key"
        cert_path.write_bytes(builder.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM))
        text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        key_path.write_bytes(text)
        return cert_path, key_path

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(key)
        serial = x509.random_serial_number()
        return builder.serial_number(serial).not_valid_before(now - _DAY).not_valid_after(now + _DAY)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _general(name: str) -> x509.GeneralName:
    if "://" in name:
        return x509.UniformResourceIdentifier(name)
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
