"""Addresses: resolve a host, and decide whether workflows may connect to it.

The decision depends on the address of the connection, never on how the host is spelled.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network


class AddressType(StrEnum):
    """The type of an address that is not public."""

    LOOPBACK = "loopback"
    PRIVATE = "private"
    LINK_LOCAL = "link-local"
    #: Where the provider of a machine hands out its keys.
    METADATA = "metadata"
    UNSPECIFIED = "unspecified"
    MULTICAST = "multicast"
    BROADCAST = "broadcast"
    RESERVED = "reserved"


def _table(rows: Sequence[tuple[AddressType, str]]) -> tuple[tuple[Network, AddressType], ...]:
    return tuple((ip_network(text), kind) for kind, row in rows for text in row.split())


#: Of several networks that an address is in, the first counts.
_TYPES = {
    4: _table(
        [
            # Alibaba's, Oracle's and Azure's; most others are link-local.
            (AddressType.METADATA, "100.100.100.200 192.0.0.192 168.63.129.16"),
            (AddressType.UNSPECIFIED, "0.0.0.0/8"),
            (AddressType.LOOPBACK, "127.0.0.0/8"),
            (AddressType.LINK_LOCAL, "169.254.0.0/16"),
            # The last is for benchmarks; proxies that make up addresses take them from there.
            (
                AddressType.PRIVATE,
                "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 198.18.0.0/15",
            ),
            (AddressType.BROADCAST, "255.255.255.255"),
            (AddressType.MULTICAST, "224.0.0.0/4"),
            (AddressType.RESERVED, "192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.51.100.0/24"),
            (AddressType.RESERVED, "203.0.113.0/24 240.0.0.0/4"),
        ]
    ),
    6: _table(
        [
            (AddressType.METADATA, "fd00:ec2::/32 fd20:ce::254 fd00:42::42"),
            (AddressType.UNSPECIFIED, "::"),
            (AddressType.LOOPBACK, "::1"),
            (AddressType.LINK_LOCAL, "fe80::/10"),
            (AddressType.PRIVATE, "fc00::/7 fec0::/10 64:ff9b:1::/48"),
            (AddressType.MULTICAST, "ff00::/8"),
            (AddressType.RESERVED, "2001::/23 2001:db8::/32 3fff::/20"),
        ]
    ),
}
#: The public networks, and the one that stands for IPv4.
_PUBLIC = (IPv6Network("2000::/3"), IPv6Network("64:ff9b::/96"))

#: IPv6 networks that embed an IPv4 address: the prefix, and the number of bits after it.
#: (Teredo's, and other spellings of IPv4, are reserved altogether.)
_EMBEDDING = (
    (IPv6Network("64:ff9b::/96"), 0),
    (IPv6Network("64:ff9b:1::/48"), 0),
    (IPv6Network("2002::/16"), 80),
)
#: Before the IPv4 address in the interface identifier that ISATAP makes.
_ISATAP = (0x00005EFE, 0x02005EFE)


def plain(text: str) -> Address:
    """Return an address without its scope; IPv4 written as IPv6 becomes IPv4."""
    address = ip_address(text)
    if isinstance(address, IPv4Address):
        return address
    return address.ipv4_mapped or IPv6Address(int(address))


def is_loopback(host: str) -> bool:
    """True if a name or an address leads to this machine, and is known to without asking."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def kind_of(address: Address) -> AddressType | None:
    """Return the type of an address by itself; None for a public one."""
    for network, kind in _TYPES[address.version]:
        if address in network:
            return kind
    if isinstance(address, IPv6Address) and not any(address in network for network in _PUBLIC):
        return AddressType.RESERVED
    return None


def embedded_in(address: Address) -> tuple[IPv4Address, ...]:
    """Return the IPv4 addresses that an IPv6 address leads to, through a gateway or tunnel."""
    if isinstance(address, IPv4Address):
        return ()
    bits = int(address)
    embedded = [bits >> after for network, after in _EMBEDDING if address in network]
    if bits >> 32 & 0xFFFFFFFF in _ISATAP:
        embedded.append(bits)
    return tuple(IPv4Address(one & 0xFFFFFFFF) for one in embedded)


_NAME = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?")
#: The last part of what a system takes for an address, in one of its odd spellings.
_NUMBER = re.compile(r"(?:.*\.)?(?:\d+|0x[0-9a-f]*)")
_LAST_PORT = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One address, network or name that a user allows, at any port unless one is given."""

    what: Address | Network | str
    port: int | None = None

    @classmethod
    def parse(cls, text: str) -> Entry:
        """Read `10.0.0.5`, `192.168.1.0/24`, `intranet.example:8080` or `[fd12::5]:8080`.

        Raises ValueError, with a sentence about the text.
        """
        text = text.strip()
        bracketed = re.fullmatch(r"\[(.*)\](:.*)?", text)
        if bracketed:
            host, port = bracketed[1], bracketed[2] or ""
        elif text.count(":") == 1:
            host, colon, number = text.partition(":")
            port = colon + number
        else:
            host, port = text, ""
        return cls(what=_what(text, host), port=_port(text, port[1:]) if port else None)

    def covers(self, host: str, address: Address, port: int, kind: AddressType) -> bool:
        """Return whether this lets `host` lead to an address of a type.

        Networks and names allow private addresses only: any other must be named itself.
        """
        if self.port not in (None, port):
            return False
        if isinstance(self.what, str):
            return kind is AddressType.PRIVATE and self.what == _folded(host)
        if isinstance(self.what, IPv4Network | IPv6Network):
            return kind is AddressType.PRIVATE and address in self.what
        return address == self.what


def _port(text: str, port: str) -> int:
    if not (port.isascii() and port.isdecimal() and 0 < int(port[:6]) <= _LAST_PORT):
        raise ValueError(f"{text!r} ends in {port!r}, which is not a port from 1 to {_LAST_PORT}")
    return int(port)


def _what(text: str, host: str) -> Address | Network | str:
    try:
        return ip_network(host) if "/" in host else plain(host)
    except ValueError as error:
        name = _folded(host)
        if "has host bits set" in str(error):
            network = ip_network(host, strict=False)
            raise ValueError(f"{text!r} is not a network; did you mean {network}?") from None
        if ":" in host or "/" in host or _NUMBER.fullmatch(name) or not _NAME.fullmatch(name):
            raise ValueError(
                f"{text!r} is not an address, a network or the name of a host, "
                "such as 10.0.0.5, 192.168.1.0/24 or intranet.example:8080"
            ) from None
        return name


def _folded(name: str) -> str:
    return name.lower().removesuffix(".")


#: The types of addresses that an exact entry can allow.
_ALLOWABLE = frozenset(
    {AddressType.LOOPBACK, AddressType.PRIVATE, AddressType.LINK_LOCAL, AddressType.METADATA}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """The addresses that workflows may reach besides public ones."""

    loopback: bool = False
    entries: tuple[Entry, ...] = ()

    def check(self, host: str, addresses: Iterable[str], port: int) -> None:
        """Raise RefusedAddress if any of the addresses that a host leads to is not allowed."""
        for text in addresses:
            address = plain(text)
            kind = kind_of(address)
            own = kind is AddressType.LOOPBACK and self.loopback
            if kind and not own and not self._covers(host, address, port, kind):
                raise RefusedAddress(host=host, address=text, port=port, kind=kind)
            for inner in embedded_in(address):
                kind = kind_of(inner)
                # The entry has to name the whole: where it leads is up to a gateway.
                if kind and not self._covers(host, address, port, kind):
                    raise RefusedAddress(host=host, address=text, port=port, kind=kind, inner=inner)

    def _covers(self, host: str, address: Address, port: int, kind: AddressType) -> bool:
        return kind in _ALLOWABLE and any(
            entry.covers(host, address, port, kind) for entry in self.entries
        )


_AN = frozenset("aeiou")


class RefusedAddress(Exception):
    """A host leads to an address that workflows may not reach; nothing was sent there."""

    def __init__(
        self,
        *,
        host: str,
        address: str,
        port: int,
        kind: AddressType,
        inner: IPv4Address | None = None,
    ) -> None:
        self.host = host
        self.address = address
        self.port = port
        self.kind = kind
        what = f"{'an' if kind[0] in _AN else 'a'} {kind} address"
        leads = f"{host} is {what}" if host == address else f"{host} resolves to {address}, {what}"
        if inner is not None:
            through = "" if host == address else f" through {address}"
            leads = f"{host} resolves to {inner}{through}, {what}"
        self.reason = f"{leads}, which workflows may not access"
        super().__init__(self.message)

    @property
    def remedy(self) -> str:
        """The way to allow it, as the end of a sentence; empty if there is none."""
        file = "under [workflows] of your own ~/.runtrue/runtrue.toml"
        match self.kind:
            case AddressType.LOOPBACK:
                return f"set RUNTRUE_ALLOW_LOOPBACK=1, or allow_loopback = true {file}"
            case AddressType.PRIVATE:
                shown = f"[{self.address}]" if ":" in self.address else self.address
                target = f"{shown}:{self.port}"
                entry = f'allow_private = ["{target}"]'
                return f"set RUNTRUE_ALLOW_PRIVATE={target}, or {entry} {file}"
            case _:
                return ""

    @property
    def message(self) -> str:
        """The message for people, in one sentence."""
        return f"{self.reason}; to allow it, {self.remedy}" if self.remedy else self.reason

    @property
    def data(self) -> dict[str, str | int]:
        """The facts for machines."""
        return {
            "host": self.host,
            "address": self.address,
            "port": self.port,
            "kind": str(self.kind),
        }


async def resolve(host: str, port: int) -> list[str]:
    """Return the addresses that a host leads to, in the order in which to try them.

    Raises OSError if it leads nowhere. Odd spellings of addresses are read as the system does.
    """
    try:
        return [str(ip_address(host))]
    except ValueError:
        pass
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        # A name that no server can have: too long, or with an empty part.
        raise socket.gaierror(socket.EAI_NONAME, "not the name of a host") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
