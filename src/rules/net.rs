//! Which addresses a server may call when somebody names a receiver: public ones, and those that its operator listed.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A range of addresses: `10.1.0.0/16`, `::1`, `fd00::/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    base: IpAddr,
    bits: u8,
}

impl Range {
    /// Whether an address lies in it; an IPv4 address that is written as IPv6 counts as what it is.
    pub fn holds(&self, address: IpAddr) -> bool {
        match (self.base, plain(address)) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                same(u128::from(u32::from(base)) << 96, u128::from(u32::from(address)) << 96, self.bits)
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => same(u128::from(base), u128::from(address), self.bits),
            _ => false,
        }
    }
}

/// Whether the first `bits` of 128 are the same.
fn same(one: u128, other: u128, bits: u8) -> bool {
    bits == 0 || (one ^ other) >> (128 - u32::from(bits)) == 0
}

impl FromStr for Range {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no range of addresses like 10.1.0.0/16 or ::1");
        let (base, bits) = text.split_once('/').map_or((text, None), |(base, bits)| (base, Some(bits)));
        let base = plain(base.parse().map_err(|_| wrong())?);
        let most = if base.is_ipv4() { 32 } else { 128 };
        let bits = match bits {
            Some(bits) => bits.parse().ok().filter(|bits| *bits <= most).ok_or_else(wrong)?,
            None => most,
        };
        Ok(Self { base, bits })
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.bits)
    }
}

/// An IPv4 address that is written as IPv6 (`::ffff:10.0.0.1`) as what it is.
fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

/// Whether an address may be called: it is public, or its operator listed it.
pub fn may_call(address: IpAddr, listed: &[Range]) -> bool {
    listed.iter().any(|range| range.holds(address)) || is_public(address)
}

/// Whether an address is one of the open internet: nothing private, shared, local, reserved, for documentation, or for groups (IANA
/// special-purpose address registries, RFC 6890 and its updates).
pub fn is_public(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(v4) => public_v4(v4),
        IpAddr::V6(v6) => public_v6(v6),
    }
}

fn public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !matches!(
        (a, b, c),
        (0 | 10 | 127 | 224..=255, ..)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            | (198, 18..=19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    )
}

fn public_v6(address: Ipv6Addr) -> bool {
    let parts = address.segments();
    match parts {
        // NAT64: what it leads to counts.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => public_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))),
        // Of the global unicast space: no protocol assignments and Teredo, no documentation, no 6to4.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_open_internet_are_public() {
        for public in
            ["1.1.1.1", "8.8.8.8", "100.63.0.1", "172.15.0.1", "172.32.0.1", "192.0.3.1", "2606:4700::1111", "64:ff9b::808:808"]
        {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for closed in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "127.0.0.1",
            "127.255.255.254",
            "100.64.0.1",
            "100.127.255.255",
            "169.254.169.254",
            "169.254.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.0.1",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::7f00:1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001::1",
            "2001:db8::1",
            "2002:a00:1::",
            "3fff::1",
            "64:ff9b::a00:1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "100::1",
        ] {
            assert!(!is_public(closed.parse().unwrap()), "{closed}");
        }
    }

    #[test]
    fn what_the_operator_listed_may_be_called_and_nothing_beside_it() {
        let listed: Vec<Range> = ["127.0.0.1", "10.1.0.0/16", "fd00::/8", "::1"].map(|text| text.parse().unwrap()).into();
        for (address, may) in [
            ("127.0.0.1", true),
            ("::ffff:127.0.0.1", true),
            ("127.0.0.2", false),
            ("10.1.255.255", true),
            ("10.2.0.0", false),
            ("fd12::1", true),
            ("fe80::1", false),
            ("::1", true),
            ("1.1.1.1", true),
            ("169.254.169.254", false),
        ] {
            assert_eq!(may_call(address.parse().unwrap(), &listed), may, "{address}");
        }
        assert!("0.0.0.0/0".parse::<Range>().unwrap().holds("9.9.9.9".parse().unwrap()));
        for bad in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "example.com", "10.0.0.0/-1", "10.0.0.0/"] {
            assert!(bad.parse::<Range>().is_err(), "{bad}");
        }
    }
}
