# Copyright: (c) 2026, stackguard.nova contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The host names that a certificate is good for. Pure. Needs cryptography, which openstacksdk needs too."""

from __future__ import annotations

import typing as t

try:
    from cryptography import x509
except ImportError:
    CRYPTOGRAPHY = False
else:
    CRYPTOGRAPHY = True


class CertificateError(ValueError):
    """A certificate that cannot be understood: why."""


def names_of(pem: str) -> t.List[str]:
    """Return the DNS names of a certificate; where it has none, its common names (RFC 6125, 6.4.4).

    Raises :class:`CertificateError`.
    """
    if not CRYPTOGRAPHY:
        raise CertificateError("cryptography is not installed on the Ansible controller")
    try:
        made = x509.load_pem_x509_certificate(pem.encode())
        try:
            extension = made.extensions.get_extension_for_class(x509.SubjectAlternativeName)
            names = [str(name) for name in extension.value.get_values_for_type(x509.DNSName)]
        except x509.ExtensionNotFound:
            names = []
        return names or [str(item.value) for item in made.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)]
    except ValueError as error:
        raise CertificateError(f"the certificate cannot be parsed: {error}") from None


def covers(pattern: str, name: str) -> bool:
    """Whether a certificate's name is good for a host name: the same one, or C(*) for its first part (RFC 6125)."""
    if pattern.startswith("*."):
        return "." in name and name.partition(".")[2].casefold() == pattern[2:].casefold()
    return pattern.casefold() == name.casefold()
