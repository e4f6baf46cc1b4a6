"""What an address is, what a user can allow of it, and what a refusal says."""

from __future__ import annotations

import asyncio
import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtrue.addresses import AddressType, Allowed, Entry, RefusedAddress, kind_of, plain, resolve

METADATA = "169.254.169.254"
#: All zeros, which is not bound to here.
NONE = str(IPv4Address(0))

KINDS = [
    ("127.0.0.1", AddressType.LOOPBACK),
    ("127.255.255.254", AddressType.LOOPBACK),
    ("::1", AddressType.LOOPBACK),
    ("::ffff:127.0.0.1", AddressType.LOOPBACK),
    ("10.0.0.5", AddressType.PRIVATE),
    ("172.16.0.1", AddressType.PRIVATE),
    ("172.31.255.255", AddressType.PRIVATE),
    ("192.168.1.1", AddressType.PRIVATE),
    ("100.64.0.1", AddressType.PRIVATE),
    ("198.18.0.1", AddressType.PRIVATE),
    ("fd12:3456::1", AddressType.PRIVATE),
    ("fc00::1", AddressType.PRIVATE),
    ("fec0::1", AddressType.PRIVATE),
    ("64:ff9b:1::808:808", AddressType.PRIVATE),
    (METADATA, AddressType.LINK_LOCAL),
    ("169.254.0.1", AddressType.LINK_LOCAL),
    ("::ffff:169.254.169.254", AddressType.LINK_LOCAL),
    ("fe80::1", AddressType.LINK_LOCAL),
    ("fe80::1%lo", AddressType.LINK_LOCAL),
    ("febf::1", AddressType.LINK_LOCAL),
    ("fd00:ec2::254", AddressType.METADATA),
    ("fd20:ce::254", AddressType.METADATA),
    ("100.100.100.200", AddressType.METADATA),
    ("192.0.0.192", AddressType.METADATA),
    ("168.63.129.16", AddressType.METADATA),
    (NONE, AddressType.UNSPECIFIED),
    ("0.1.2.3", AddressType.UNSPECIFIED),
    ("::", AddressType.UNSPECIFIED),
    ("224.0.0.1", AddressType.MULTICAST),
    ("ff02::1", AddressType.MULTICAST),
    ("255.255.255.255", AddressType.BROADCAST),
    ("240.0.0.1", AddressType.RESERVED),
    ("192.0.0.1", AddressType.RESERVED),
    ("192.0.2.1", AddressType.RESERVED),
    ("198.51.100.7", AddressType.RESERVED),
    ("203.0.113.9", AddressType.RESERVED),
    ("2001:db8::1", AddressType.RESERVED),
    ("100::1", AddressType.RESERVED),
    ("::127.0.0.1", AddressType.RESERVED),
    ("::ffff:0:127.0.0.1", AddressType.RESERVED),
    ("2001:0:a9fe:a9fe::", AddressType.RESERVED),
    ("93.184.216.34", None),
    ("172.15.0.1", None),
    ("172.32.0.1", None),
    ("100.63.255.255", None),
    ("100.128.0.1", None),
    ("223.255.255.255", None),
    ("2606:2800:220:1::1", None),
    ("64:ff9b::5db8:d822", None),
]


@pytest.mark.parametrize(("text", "kind"), KINDS)
def test_what_an_address_is(text: str, kind: AddressType | None) -> None:
    assert kind_of(plain(text)) is kind


def refusal(
    allowed: Allowed, address: str, *, host: str = "x.example", port: int = 80
) -> AddressType:
    with pytest.raises(RefusedAddress) as caught:
        allowed.check(host, [address], port)
    return caught.value.kind


def allowing(*texts: str, loopback: bool = False) -> Allowed:
    return Allowed(loopback=loopback, entries=tuple(map(Entry.parse, texts)))


@pytest.mark.parametrize(("text", "kind"), KINDS)
def test_by_default_only_what_anybody_may_have_is_reached(
    text: str, kind: AddressType | None
) -> None:
    if kind is None:
        Allowed().check("x.example", [text], 80)
    else:
        assert refusal(Allowed(), text) is kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("64:ff9b::a9fe:a9fe", AddressType.LINK_LOCAL),
        ("64:ff9b::127.0.0.1", AddressType.LOOPBACK),
        ("64:ff9b:1::a00:5", AddressType.PRIVATE),
        ("2002:a9fe:a9fe::", AddressType.LINK_LOCAL),
        ("2002:7f00:1::1", AddressType.LOOPBACK),
        ("2002:a00:5:1::2", AddressType.PRIVATE),
        ("2606:2800::5efe:a9fe:a9fe", AddressType.LINK_LOCAL),
        ("2606:2800::200:5efe:10.0.0.5", AddressType.PRIVATE),
    ],
)
def test_an_address_that_stands_for_another_is_judged_by_that(text: str, kind: AddressType) -> None:
    assert refusal(Allowed(), text) is kind
    assert refusal(allowing("10.0.0.5", loopback=True), text) is kind
    allowing(text).check("x.example", [text], 80)


class TestWhatAUserAllows:
    def test_loopback_is_this_machine_and_nothing_else(self) -> None:
        allowed = Allowed(loopback=True)
        allowed.check("localhost", ["127.0.0.1", "::1", "::ffff:127.0.0.1"], 80)
        for text, kind in KINDS:
            if kind not in (None, AddressType.LOOPBACK):
                assert refusal(allowed, text) is kind

    @pytest.mark.parametrize(
        ("entry", "reached", "refused"),
        [
            ("10.0.0.5", ["10.0.0.5", "::ffff:10.0.0.5"], ["10.0.0.6", "192.168.0.5"]),
            ("192.168.1.0/24", ["192.168.1.0", "192.168.1.255"], ["192.168.2.1"]),
            ("10.0.0.5:80", ["10.0.0.5"], []),
            ("10.0.0.5:8080", [], ["10.0.0.5"]),
            ("10.0.0.0/8:80", ["10.1.2.3"], []),
            ("fd12::/16", ["fd12::5"], ["fd13::5", "10.0.0.5"]),
            ("[fd12::5]:80", ["fd12::5"], ["fd12::6"]),
            ("[fd12::5]:81", [], ["fd12::5"]),
            ("fd12::5", ["fd12::5"], ["fd12::6"]),
            ("x.example", ["10.0.0.5", "fd12::5"], ["127.0.0.1", METADATA, NONE]),
            ("X.Example.:80", ["10.0.0.5"], []),
            ("x.example:81", [], ["10.0.0.5"]),
            ("y.example", [], ["10.0.0.5"]),
            ("example", [], ["10.0.0.5"]),
            ("127.0.0.1:80", ["127.0.0.1"], ["127.0.0.2", "::1"]),
            (METADATA, [METADATA, "::ffff:169.254.169.254"], ["169.254.169.253"]),
            ("fd00:ec2::254", ["fd00:ec2::254"], ["fd00:ec2::253"]),
        ],
    )
    def test_an_entry_opens_what_it_names(
        self, entry: str, reached: list[str], refused: list[str]
    ) -> None:
        allowed = allowing(entry)
        allowed.check("x.example", reached, 80)
        for address in refused:
            refusal(allowed, address)

    @pytest.mark.parametrize("network", ["0.0.0.0/0", "::/0"])
    def test_a_network_opens_private_addresses_only(self, network: str) -> None:
        for text, kind in KINDS:
            address = plain(text)
            if kind is AddressType.PRIVATE and address in ip_network(network):
                allowing(network).check("x.example", [text], 80)
            elif kind is not None:
                assert refusal(allowing(network), text) is kind

    @pytest.mark.parametrize("address", [METADATA, "fd00:ec2::254"])
    def test_metadata_is_opened_by_its_address_alone_never_as_a_network(self, address: str) -> None:
        whole = ip_network(address)
        refusal(allowing(str(whole)), address)
        refusal(allowing("x.example"), address)
        allowing(address).check("x.example", [address], 80)

    @pytest.mark.parametrize("address", [NONE, "::", "224.0.0.1", "255.255.255.255", "240.0.0.1"])
    def test_what_nobody_can_be_at_is_never_opened(self, address: str) -> None:
        refusal(allowing(address, loopback=True), address)

    def test_one_address_of_several_is_enough_to_refuse_a_host(self) -> None:
        with pytest.raises(RefusedAddress) as caught:
            Allowed().check("x.example", ["93.184.216.34", METADATA], 80)
        assert caught.value.address == METADATA

    @pytest.mark.parametrize(
        "text",
        [
            *("", " ", ":80", "10.0.0.5:", "10.0.0.5:0", "10.0.0.5:65536", "10.0.0.5:http", "a b"),
            *("10.0.0.5:٣", "*.example", "http://10.0.0.5", "10.0.0.5/path", "2130706433", "127.1"),
            *("0x7f.1", "10.0.0.256", "[10.0.0.5", "[::1]80", "[::1]:", "-a.example", "a..b"),
            *("10.0.0.0/33", "fd12::/129", "fd12::5:x", "ex.ämple", "user@x.example"),
        ],
    )
    def test_an_entry_that_makes_no_sense_is_told(self, text: str) -> None:
        with pytest.raises(ValueError, match=r"is not|ends in"):
            Entry.parse(text)

    def test_a_network_with_a_host_in_it_is_told_with_the_network(self) -> None:
        with pytest.raises(ValueError, match=r"did you mean 192\.168\.1\.0/24\?"):
            Entry.parse("192.168.1.7/24")


class TestWhatARefusalSays:
    def test_a_name(self) -> None:
        error = RefusedAddress(
            host="example.com", address=METADATA, port=80, kind=AddressType.LINK_LOCAL
        )
        assert error.message == (
            f"example.com resolves to {METADATA}, a link-local address, which workflows may "
            "not access"
        )
        assert error.data == {
            "host": "example.com",
            "address": METADATA,
            "port": 80,
            "kind": "link-local",
        }

    def test_an_address_by_itself(self) -> None:
        error = RefusedAddress(host=NONE, address=NONE, port=1, kind=AddressType.UNSPECIFIED)
        assert str(error) == f"{NONE} is an unspecified address, which workflows may not access"

    def test_an_address_that_stands_for_another(self) -> None:
        with pytest.raises(RefusedAddress) as caught:
            Allowed().check("x.example", ["64:ff9b::a9fe:a9fe"], 80)
        assert str(caught.value).startswith(
            f"x.example resolves to {METADATA} through 64:ff9b::a9fe:a9fe, a link-local address, "
        )

    @pytest.mark.parametrize(
        ("address", "kind", "setting"),
        [
            ("127.0.0.1", AddressType.LOOPBACK, "RUNTRUE_ALLOW_LOOPBACK=1"),
            ("10.0.0.5", AddressType.PRIVATE, "RUNTRUE_ALLOW_PRIVATE=10.0.0.5:8080"),
            ("fd12::5", AddressType.PRIVATE, "RUNTRUE_ALLOW_PRIVATE=[fd12::5]:8080"),
        ],
    )
    def test_what_can_be_allowed_is_told_with_what_allows_it(
        self, address: str, kind: AddressType, setting: str
    ) -> None:
        error = RefusedAddress(host="x.example", address=address, port=8080, kind=kind)
        assert f"; to allow it, set {setting}, or allow_" in error.message

    def test_what_it_says_to_set_allows_it(self) -> None:
        with pytest.raises(RefusedAddress) as caught:
            Allowed().check("x.example", ["fd12::5"], 8080)
        entry = caught.value.remedy.partition("RUNTRUE_ALLOW_PRIVATE=")[2].partition(",")[0]
        allowing(entry).check("x.example", ["fd12::5"], 8080)


class TestNames:
    @pytest.mark.parametrize(
        "spelled", ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "localhost"]
    )
    def test_odd_spellings_lead_to_the_same_address(self, spelled: str) -> None:
        assert "127.0.0.1" in asyncio.run(resolve(spelled, 80))

    @pytest.mark.parametrize("name", ["a" * 64, "a..b", "x" * 300])
    def test_what_is_no_name_leads_nowhere(self, name: str) -> None:
        with pytest.raises(socket.gaierror):
            asyncio.run(resolve(name, 80))


@given(st.ip_addresses())
def test_every_address_is_told_from_what_anybody_may_have(
    address: IPv4Address | IPv6Address,
) -> None:
    """Nothing that Python takes for less than global gets through, but the ways into IPv4."""
    try:
        Allowed().check("x.example", [str(address)], 80)
    except RefusedAddress:
        return
    translated = address.version == 6 and address in ip_network("64:ff9b::/96")
    assert ip_address(address).is_global or translated
    assert not address.is_multicast


@given(st.ip_addresses(v=4))
def test_an_address_is_judged_the_same_in_all_its_spellings(address: IPv4Address) -> None:
    def judged(text: str) -> bool:
        try:
            Allowed().check("x.example", [text], 80)
        except RefusedAddress:
            return False
        return True

    bits = int(address)
    sixtofour = IPv6Address(0x2002 << 112 | bits << 80)
    translated = IPv6Address((0x64FF9B << 96) | bits)
    mapped = f"::ffff:{address}"
    assert (
        judged(mapped) == judged(str(address)) == judged(str(sixtofour)) == judged(str(translated))
    )
